#include "statements.hpp"

#include "mysql.hpp"
#include "routines.hpp"

namespace holdfast::mysql {

namespace {

sql::statement call(const sql::layout& which, std::string_view routine, std::size_t parameters) {
  std::string text = "CALL " + sql::mysql::table(which, routine) + "(";
  for (std::size_t i = 0; i < parameters; ++i) text += i == 0 ? "?" : ",?";
  return {std::string(routine), text + ")"};
}

void append(std::string& text, const sql::arguments::value& one) {
  constexpr char digits[] = "0123456789abcdef";
  if (one.is == sql::arguments::value::form::number) {
    text += one.text;
    return;
  }
  text += "x'";
  for (const char c : one.text) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  text += '\'';
}

}  // namespace

sql::statements statements_for(const sql::layout& which) {
  const auto named = [&](std::string_view routine) {
    return call(which, routine, sql::routine_called(routine, which).takes.size());
  };
  sql::statements all;
  all.enter = named("enter");
  all.leave = named("leave");
  all.renew = call(which, sql::mysql::renew_all, 1);
  all.evict = named("evict");
  all.inspect = call(which, sql::mysql::inspect, 2);
  if (which.shares()) return all;
  all.enter_number = named("enter_number");
  all.leave_number = named("leave_number");
  all.convert = named("convert");
  all.raise_token = named("raise_token");
  all.count_step = named("count_step");
  all.load_cell = {"load_cell", "SELECT value, version FROM " + sql::mysql::table(which, "cells") + " WHERE name = ?"};
  all.exchange_cell = named("exchange_cell");
  all.admit_token = named("admit_token");
  return all;
}

std::string written(const sql::statement& what, const sql::arguments& with) {
  std::string text;
  std::size_t at = 0;
  for (const auto& one : with.all()) {
    const auto place = what.text.find('?', at);
    text.append(what.text, at, place - at);
    append(text, one);
    at = place + 1;
  }
  return text.append(what.text, at);
}

}  // namespace holdfast::mysql
