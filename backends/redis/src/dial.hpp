#pragma once

#include "descriptor.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <chrono>
#include <string>

namespace holdfast::redis {

/// What a server says of itself; empty where it does not let us ask.
struct introduction {
  std::string info;   ///< INFO
  std::string fsync;  ///< CONFIG GET appendfsync
};

/// A connection that is authenticated, named and on its database: ready for commands. Blocks at most `limit` (but the
/// look-up of a host name takes as long as the resolver does). The socket is a blocking one.
///
/// errc::unavailable: nobody there, or not yet ready; errc::rejected: the server does not want us.
/// `about`, if given, is filled with what the server says of itself.
result<descriptor> dial(const settings& where, const std::string& client_name, std::chrono::nanoseconds limit,
                        introduction* about = nullptr);

/// How long recv on the socket blocks.
void set_receive_timeout(int fd, std::chrono::nanoseconds limit) noexcept;

}  // namespace holdfast::redis
