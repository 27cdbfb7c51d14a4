#pragma once

#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memcached {

/// What all keys of ours begin with; made of characters that no listing escapes.
inline constexpr std::string_view lock_keys = "holdfast.l.";
inline constexpr std::string_view wait_keys = "holdfast.w.";
inline constexpr std::string_view cell_keys = "holdfast.c.";

/// A key for `name`: itself where memcached takes it (at most 250 bytes, neither space nor control characters), with
/// %20 for a space and %25 for a percent sign; a longer one is its first bytes and a hash of 128 bits. Whoever reads an
/// item finds the whole name in it, and so does not mistake one name for another.
std::string key_of(std::string_view kind, std::string_view name);

/// Of one who waits for a name.
std::string waiter_key(std::string_view name, const spi::owner_id& id);

/// Which of the servers has the name: the one with the highest hash of both, so that adding a server moves the names
/// that go there and no others.
std::size_t server_of(std::string_view name, const std::vector<address>& servers);

}  // namespace holdfast::memcached
