#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace holdfast::memcached {

/// The longest an item may be given, in seconds; longer ones are taken for a date.
inline constexpr std::int64_t longest_lifetime = 60 * 60 * 24 * 30;

/// By how many seconds an item may end before it should. The server counts by a clock of whole seconds that is set once
/// a second, by a timer that is a little late each time: now and then it passes over the turn of a second, and the
/// clock goes on by two. So an item of N seconds lives for more than N-2 of them, and for little more than N.
inline constexpr std::int64_t lost_to_ticks = 2;

/// How long an item is to live so that it does so for `ttl` at least.
inline std::int64_t lifetime_for(std::chrono::nanoseconds ttl) {
  const auto limit = std::chrono::seconds(longest_lifetime);
  const auto whole = std::chrono::ceil<std::chrono::seconds>(std::min<std::chrono::nanoseconds>(ttl, limit)).count();
  return std::clamp<std::int64_t>(whole + lost_to_ticks, 1 + lost_to_ticks, longest_lifetime);
}

/// What of a ttl the server can keep.
inline std::chrono::nanoseconds kept(std::chrono::nanoseconds ttl) {
  return std::min<std::chrono::nanoseconds>(ttl, std::chrono::seconds(longest_lifetime - lost_to_ticks));
}

/// What is left for sure of an item that the server drops in so many seconds.
inline std::chrono::nanoseconds sure_of(std::int64_t left) {
  return std::chrono::seconds(std::max<std::int64_t>(0, left - lost_to_ticks));
}

/// Microseconds, as inspect shows them.
inline std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace holdfast::memcached
