#pragma once

#include "connection.hpp"
#include "database_file.hpp"
#include "sidecar.hpp"

#include <holdfast/result.hpp>

namespace holdfast::sqlite {

/// The version of the tables, in the file's user_version. A newer one is refused; older ones will be brought up to
/// date.
constexpr std::int64_t schema_version = 1;

/// Opens the database, makes the tables in an empty file, and clears away the holders and waiters of an earlier boot.
///
/// Any number of processes may do this at the same moment: one makes, the others wait, at most until `deadline`.
result<std::unique_ptr<connection>> open_database(const database_file& file, const sidecar& beside,
                                                  connection::clock::time_point deadline);

}  // namespace holdfast::sqlite
