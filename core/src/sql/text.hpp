#pragma once

#include <holdfast/sql/connection.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql::detail {

/// `name` as an identifier, whatever is in it.
std::string quoted(flavour in, std::string_view name);

/// A table, with its schema if there is one.
std::string quoted_table(flavour in, std::string_view schema, std::string_view table);

/// Throws holdfast::error (invalid_argument) for a name that no quotes can make one: empty, or with a zero byte.
/// `what`: the name of the option.
void check_identifier(std::string_view name, std::string_view what);

/// Throws holdfast::error (invalid_argument) if `changes` name `column`, which is not the caller's to set. In whatever
/// letters: MySQL does not tell them apart.
void check_not_among(std::string_view column, const std::vector<field>& changes, const char* operation,
                     const std::string& table);

/// A statement that grows, and the values for the places in it.
class composition {
 public:
  explicit composition(flavour in) : in_(in) {}

  composition& put(std::string_view text);     ///< As it is: text of ours.
  composition& name(std::string_view column);  ///< Quoted.
  composition& place(const value& what);       ///< `$3` or `?`.
  /// `"a" = $1, "b" = $2`.
  composition& assignments(const std::vector<field>& all);
  /// `"a" = $1 AND "b" = $2`. Throws holdfast::error (invalid_argument) for none, and for NULL: nothing equals it.
  composition& condition(const std::vector<field>& all);

  const std::string& text() const noexcept { return text_; }
  const std::vector<value>& values() const noexcept { return values_; }

 private:
  flavour in_;
  std::string text_;
  std::vector<value> values_;
};

}  // namespace holdfast::sql::detail
