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

}  // namespace holdfast::postgres
