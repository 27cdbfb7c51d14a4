#pragma once

#include "line.hpp"
#include "reach.hpp"
#include "settings.hpp"

#include <string>

namespace holdfast::redis {

/// A connection to the server at the address of `where`, ready for commands. If `where` is about a master, it must be
/// one: errc::unavailable otherwise.
result<line> greet(const settings& where, const std::string& client_name, steady::time_point deadline);

}  // namespace holdfast::redis
