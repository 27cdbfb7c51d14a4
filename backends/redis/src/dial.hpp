#pragma once

#include "line.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <chrono>
#include <string>

namespace holdfast::redis {

/// A connection that is authenticated, named and on its database: ready for commands. Blocks at most `limit` (but the
/// look-up of a host name takes as long as the resolver does). The socket is a blocking one.
///
/// errc::unavailable: nobody there, or not yet ready; errc::rejected: the server does not want us, or we do not trust
/// it.
result<line> dial(const settings& where, const std::string& client_name, std::chrono::nanoseconds limit);

/// How long recv on the socket blocks.
void set_receive_timeout(int fd, std::chrono::nanoseconds limit) noexcept;

}  // namespace holdfast::redis
