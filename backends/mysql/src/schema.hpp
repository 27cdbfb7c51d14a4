#pragma once

#include "connection.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <string>

namespace holdfast::mysql {

/// Makes the tables and routines if they are not there, or brings them up to date; one at a time of all who try.
/// errc::rejected: they are newer than we are, or the user lacks a right, or the server is one on which locks would not
/// hold.
result<void> make_schema(connection& over, settings where, connection::clock::time_point deadline);

/// One word for these tables, whatever the way to them.
result<std::string> identity_of(connection& over, const settings& where, connection::clock::time_point deadline);

}  // namespace holdfast::mysql
