#include "layout.hpp"

#include <algorithm>

namespace holdfast::sql {

namespace {

// With what is put behind it, it is still no longer than any server lets a name be.
constexpr std::size_t longest_table = 40;

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= longest_table && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

result<layout> beside_shedlock(std::string_view table, std::string_view usual_schema) {
  const auto dot = table.find('.');
  const auto name = dot == table.npos ? table : table.substr(dot + 1);
  const bool good = is_identifier(name) && (dot == table.npos || is_identifier(table.substr(0, dot)));
  if (!good)
    return {errc::invalid_argument, "'" + std::string(table) +
                                        "' is not the name of a table, or a schema, a dot and the name: each of 1 to " +
                                        std::to_string(longest_table) + " letters, digits and _"};
  layout out;
  out.schema = dot == table.npos ? usual_schema : table.substr(0, dot);
  out.shedlock = name;
  out.prefix = out.shedlock + "_holdfast_";
  return out;
}

std::vector<table> tables_of(const layout& which) {
  if (!which.shares()) return tables();
  std::vector<table> few;
  for (const table& t : tables())
    if (t.name == "meta" || t.name == "locks" || t.name == "queue") few.push_back(t);
  return few;
}

const table& shedlock_table() {
  static const table its{"shedlock",
                         "ShedLock's, as its documentation has it.",
                         {{"name", type::job, "NOT NULL"},
                          {"lock_until", type::moment, "NOT NULL"},  // free from then on
                          {"locked_at", type::moment, "NOT NULL"},
                          {"locked_by", type::locker, "NOT NULL"}},
                         "name",
                         ""};
  return its;
}

}  // namespace holdfast::sql
