#include "statements.hpp"

#include "mysql.hpp"
#include "routines.hpp"

namespace holdfast::mysql {

namespace {

sql::statement call(std::string_view prefix, std::string_view routine, std::size_t parameters) {
  std::string text = "CALL " + sql::mysql::quoted(std::string(prefix) + std::string(routine)) + "(";
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

sql::statements statements_for(std::string_view prefix) {
  const auto named = [&](std::string_view routine) {
    return call(prefix, routine, sql::routine_called(routine).takes.size());
  };
  const std::string cells = sql::mysql::quoted(std::string(prefix) + "cells");
  return {named("enter"),
          named("enter_number"),
          named("leave"),
          named("leave_number"),
          call(prefix, sql::mysql::renew_all, 1),
          named("convert"),
          named("raise_token"),
          named("count_step"),
          {"load_cell", "SELECT value, version FROM " + cells + " WHERE name = ?"},
          named("exchange_cell"),
          named("admit_token"),
          named("evict"),
          call(prefix, sql::mysql::inspect, 2)};
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
