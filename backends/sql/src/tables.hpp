#pragma once

#include "dialect.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

/// The version of tables and routines, as the table `meta` has it. A newer one is refused, an older one brought up to
/// date.
constexpr int schema_version = 1;

struct column {
  std::string_view name;
  type holds = type::number;
  std::string_view rest;  ///< NOT NULL, DEFAULT: the same in every dialect.
};

struct table {
  std::string_view name;
  std::string_view about;
  std::vector<column> columns;
  std::string_view key;    ///< Its primary key.
  std::string_view other;  ///< Columns that are unique too; empty: none.
};

/// Every table there is.
const std::vector<table>& tables();

/// CREATE TABLE IF NOT EXISTS, without a semicolon.
std::string create(const table& t, const dialect& in);

}  // namespace holdfast::sql
