#pragma once

#include "tables.hpp"

#include <holdfast/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

/// Which tables and routines there are, and what they are called.
struct layout {
  std::string schema = {};     ///< PostgreSQL's schema; MySQL's database, empty: that of the connection.
  std::string prefix = {};     ///< What their names begin with.
  std::string shedlock = {};   ///< ShedLock's table in that schema, which ours go with; empty: all of them are ours.
  std::string collation = {};  ///< MySQL: of the column `name` of ShedLock's table.

  bool shares() const noexcept { return !shedlock.empty(); }
  /// ShedLock's table, as it may be shown.
  std::string shown_table() const { return schema.empty() ? shedlock : schema + "." + shedlock; }
};

/// How long a name may be in ShedLock's table, in characters.
constexpr std::size_t longest_job = 64;

/// What goes with ShedLock's table `name`, or `schema.name`. errc::invalid_argument: it cannot be the name of one.
result<layout> beside_shedlock(std::string_view table, std::string_view usual_schema);

/// The tables that are ours.
std::vector<table> tables_of(const layout& which);
/// ShedLock's own, as it is made where it is missing.
const table& shedlock_table();

}  // namespace holdfast::sql
