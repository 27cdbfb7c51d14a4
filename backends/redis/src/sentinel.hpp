#pragma once

#include "line.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <chrono>
#include <string>

namespace holdfast::redis {

/// A connection to whoever the sentinels call the master, and who says so itself. Asks them in turn, each for a fair
/// share of `limit`; while the master they name is none (a failover is under way) until `limit` is over.
///
/// errc::unavailable: nobody answered, or no master did; errc::rejected: nobody knows the master's name, or the
/// sentinels or the master do not want us.
result<line> dial_master(const settings& where, const std::string& client_name, std::chrono::nanoseconds limit);

/// A connection to one of the sentinels that know the master.
result<line> dial_sentinel(const settings& where, std::chrono::nanoseconds limit);

/// Where the sentinels say that the master is: host:port.
result<std::string> locate_master(const settings& where, std::chrono::nanoseconds limit);

}  // namespace holdfast::redis
