#include "statements.hpp"

#include "postgresql.hpp"
#include "routines.hpp"

#include <string>

namespace holdfast::postgres {

namespace {

sql::statement call(std::string_view schema, const std::string& routine, std::size_t parameters) {
  std::string text = "SELECT " + sql::postgresql::quoted(schema) + "." + routine + "(";
  for (std::size_t i = 1; i <= parameters; ++i) text += (i == 1 ? "$" : ", $") + std::to_string(i);
  return {"holdfast_" + routine, text + ")"};
}

sql::statement call(std::string_view schema, const std::string& routine) {
  return call(schema, routine, sql::routine_called(routine).takes.size());
}

}  // namespace

sql::statements statements_for(std::string_view schema) {
  const std::string cells = sql::postgresql::quoted(schema) + ".cells";
  return {call(schema, "enter"),
          call(schema, "enter_number"),
          call(schema, "leave"),
          call(schema, "leave_number"),
          call(schema, "renew_all", 3),
          call(schema, "convert"),
          call(schema, "raise_token"),
          call(schema, "count_step"),
          {"holdfast_load_cell", "SELECT value, version FROM " + cells + " WHERE name = $1"},
          call(schema, "exchange_cell"),
          call(schema, "admit_token"),
          call(schema, "evict"),
          {"holdfast_inspect", sql::postgresql::inspection(schema)}};
}

sql::session_statements session_statements_for(std::string_view schema) {
  const std::string in = sql::postgresql::quoted(schema) + ".";
  const std::string mine = " AS pid WHERE pid = ANY(string_to_array(";
  return {call(schema, "hold", 5 + sql::routine_called("enter").takes.size()),
          call(schema, "drop_hold", 6),
          call(schema, "convert_hold", 6),
          call(schema, "renew_all", 3),
          {"holdfast_rest",
           "SELECT CASE WHEN current_setting('idle_session_timeout', true) IS NULL THEN '' ELSE "
           "set_config('idle_session_timeout', '0', false) END"},
          {"holdfast_cancel", "SELECT pg_cancel_backend($1::bigint::int)"},
          call(schema, "note_wait", 8),
          {"holdfast_end_wait", "DELETE FROM " + in + "waiting WHERE name = $1 AND owner = $2"},
          {"holdfast_processes",
           "SELECT coalesce(string_agg(pid::text, ' '), '') FROM " + in + "lockers($1, $2, $3) AS pid"},
          {"holdfast_still_hold", "SELECT count(*) FROM " + in + "lockers($1, $2, $3)" + mine +
                                      "$5, ' ')::int[]) AND NOT "
                                      "EXISTS(SELECT 1 FROM " +
                                      in + "locks WHERE name = $4 AND (owner IS NOT NULL OR shares <> 0))"},
          {"holdfast_terminate", "SELECT count(*) FROM " + in + "lockers($1, $2, $3)" + mine +
                                     "$4, ' ')::int[]) AND "
                                     "pg_terminate_backend(pid)"}};
}

}  // namespace holdfast::postgres
