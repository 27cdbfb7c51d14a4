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

}  // namespace holdfast::postgres
