#pragma once

#include <holdfast/lease_clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include <algorithm>
#include <chrono>

namespace holdfast::detail {

using namespace std::chrono_literals;

inline constexpr std::chrono::nanoseconds least_ttl = 10ms;
inline constexpr std::chrono::nanoseconds greatest_ttl = std::chrono::hours(24 * 30);

/// What validity ends before the store's own idea of it: one percent for clocks that run at different speeds, and two
/// milliseconds to get the loss signal out.
constexpr std::chrono::nanoseconds drift_margin(std::chrono::nanoseconds ttl) { return ttl / 100 + 2ms; }

/// A third: two renewals may fail before the lease does.
constexpr std::chrono::nanoseconds renewal_period(std::chrono::nanoseconds ttl) { return ttl / 3; }

/// How long a local queue may keep a lock from the other processes, and how many hands it may go through meanwhile.
inline constexpr std::chrono::nanoseconds handover_time = 10ms;
inline constexpr std::uint32_t handover_count = 128;
/// The same where handovers are so quick that the count ends long before the time.
inline constexpr std::uint32_t most_handovers = 1024;

/// After a hold shorter than this the next ones are taken to be as short: shorter than it takes to wake a thread.
inline constexpr std::chrono::nanoseconds quick_hold = 50us;
/// How long those awake may go before the one who waits longest.
inline constexpr std::chrono::nanoseconds passed_over_time = 1ms;

result<void> check_ttl(std::chrono::nanoseconds ttl);

}  // namespace holdfast::detail
