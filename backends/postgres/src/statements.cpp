#include "statements.hpp"

#include "postgresql.hpp"
#include "routines.hpp"

#include <string>

namespace holdfast::postgres {

namespace {

sql::statement call(const sql::layout& which, const std::string& routine, std::size_t parameters) {
  std::string text = "SELECT " + sql::postgresql::table(which, routine) + "(";
  for (std::size_t i = 1; i <= parameters; ++i) text += (i == 1 ? "$" : ", $") + std::to_string(i);
  return {"holdfast_" + routine, text + ")"};
}

sql::statement call(const sql::layout& which, const std::string& routine) {
  return call(which, routine, sql::routine_called(routine, which).takes.size());
}

}  // namespace

sql::statements statements_for(const sql::layout& which) {
  sql::statements all;
  all.enter = call(which, "enter");
  all.leave = call(which, "leave");
  all.renew = call(which, "renew_all", 3);
  all.evict = call(which, "evict");
  all.inspect = {"holdfast_inspect", sql::postgresql::inspection(which)};
  if (which.shares()) return all;
  all.enter_number = call(which, "enter_number");
  all.leave_number = call(which, "leave_number");
  all.convert = call(which, "convert");
  all.raise_token = call(which, "raise_token");
  all.count_step = call(which, "count_step");
  all.load_cell = {"holdfast_load_cell",
                   "SELECT value, version FROM " + sql::postgresql::table(which, "cells") + " WHERE name = $1"};
  all.exchange_cell = call(which, "exchange_cell");
  all.admit_token = call(which, "admit_token");
  return all;
}

sql::session_statements session_statements_for(const sql::layout& which) {
  const std::string in = sql::postgresql::quoted(which.schema) + ".";
  const std::string mine = " AS pid WHERE pid = ANY(string_to_array(";
  return {call(which, "hold", 5 + sql::routine_called("enter", which).takes.size()),
          call(which, "drop_hold", 6),
          call(which, "convert_hold", 6),
          call(which, "renew_all", 3),
          {"holdfast_rest",
           "SELECT CASE WHEN current_setting('idle_session_timeout', true) IS NULL THEN '' ELSE "
           "set_config('idle_session_timeout', '0', false) END"},
          {"holdfast_cancel", "SELECT pg_cancel_backend($1::bigint::int)"},
          call(which, "note_wait", 8),
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
