#pragma once

#include "connection.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

namespace holdfast::postgres {

/// Makes the tables and routines if they are not there, or brings older ones up to date. Any number of processes may do
/// this at the same moment: one makes, the others wait. errc::rejected: they are newer than this library, or the user
/// has no right to make them.
result<void> make_schema(connection& over, const settings& where, connection::clock::time_point deadline);

}  // namespace holdfast::postgres
