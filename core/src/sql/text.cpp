#include "text.hpp"

#include <algorithm>
#include <cctype>

namespace holdfast::sql::detail {

std::string quoted(flavour in, std::string_view name) {
  const char quote = in == flavour::postgresql ? '"' : '`';
  std::string text(1, quote);
  for (const char c : name) text.append(c == quote ? 2 : 1, c);
  return text + quote;
}

std::string quoted_table(flavour in, std::string_view schema, std::string_view table) {
  return (schema.empty() ? "" : quoted(in, schema) + ".") + quoted(in, table);
}

void check_identifier(std::string_view name, std::string_view what) {
  const std::string which(what);
  if (name.empty()) throw error({errc::invalid_argument, which + " is empty; it must be the name of one"});
  if (name.find('\0') != name.npos) throw error({errc::invalid_argument, which + " has a zero byte in its name"});
}

void check_not_among(std::string_view column, const std::vector<field>& changes, const char* operation,
                     const std::string& table) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  for (const field& one : changes) {
    if (std::equal(one.column.begin(), one.column.end(), column.begin(), column.end(), same))
      throw error({errc::invalid_argument, "the changes name column '" + one.column + "', which is set by itself"},
                  operation, table);
  }
}

composition& composition::put(std::string_view text) {
  text_ += text;
  return *this;
}

composition& composition::name(std::string_view column) {
  check_identifier(column, "column");
  return put(quoted(in_, column));
}

composition& composition::place(const value& what) {
  values_.push_back(what);
  return put(in_ == flavour::postgresql ? "$" + std::to_string(values_.size()) : "?");
}

composition& composition::assignments(const std::vector<field>& all) {
  std::string_view comma;
  for (const field& one : all) {
    put(comma).name(one.column).put(" = ").place(one.holds);
    comma = ", ";
  }
  return *this;
}

composition& composition::condition(const std::vector<field>& all) {
  if (all.empty()) throw error({errc::invalid_argument, "the key is empty; it must name one row"});
  std::string_view conjunction;
  for (const field& one : all) {
    if (one.holds.is() == value::form::null)
      throw error({errc::invalid_argument, "the key column '" + one.column + "' is NULL, which equals nothing"});
    put(conjunction).name(one.column).put(" = ").place(one.holds);
    conjunction = " AND ";
  }
  return *this;
}

}  // namespace holdfast::sql::detail
