#pragma once

#include "line.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/result.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::redis {

using steady = std::chrono::steady_clock;

/// A connection to the address, with TLS if asked for, on which nothing was said yet. Its socket does not block.
///
/// errc::unavailable: nobody there; errc::rejected: whoever is there cannot be trusted, or does not trust us.
result<line> reach(const settings& where, steady::time_point deadline);

/// Says `commands`, already encoded, and waits for their `count` answers, errors among them. Fewer, but one at least:
/// the server has closed the connection after them.
result<std::vector<reply>> ask(const line& whom, const std::string& commands, std::size_t count,
                               steady::time_point deadline);

}  // namespace holdfast::redis
