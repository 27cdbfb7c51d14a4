#pragma once

#include "connection.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <chrono>
#include <string_view>

namespace holdfast::mysql {

/// Connects as `settings` say and sets the session up. Blocks at most `limit` (but the look-up of a host name takes as
/// long as the resolver does). errc::unavailable: nobody there, or not ready; anything else: it does not want us.
result<connection> dial(const settings& where, spi::runtime& engine, std::chrono::nanoseconds limit);

/// A failure of the connection itself: errc::unavailable.
failure broken(const settings& where, std::string_view what);

}  // namespace holdfast::mysql
