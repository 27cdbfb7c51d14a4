#pragma once

#include "rows.hpp"

#include <holdfast/inspect.hpp>
#include <holdfast/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

/// The statement that asks for the columns of ShedLock's table: name, type, decimals of a time, collation. `schema` is
/// an expression, `table` a literal.
std::string shedlock_columns(std::string_view schema, std::string_view table);

/// The collation of its names, if it has one. No rows: there is no such table, and nothing is wrong. errc::rejected: it
/// is not one that locks can be kept in.
result<std::string> check_shedlock(const rows& columns, const std::string& shown);

/// What `holdfast doctor` says of it. `ahead`: how many locks were taken later than it is.
void judge_shedlock(std::int64_t ahead, const std::string& shown, std::vector<finding>& found);

}  // namespace holdfast::sql
