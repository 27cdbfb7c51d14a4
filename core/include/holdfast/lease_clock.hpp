#pragma once

#include <holdfast/export.hpp>

#include <chrono>

namespace holdfast {

/// The clock leases are counted on: CLOCK_BOOTTIME. Monotonic, indifferent to wall-clock jumps, and it goes on while
/// the machine is suspended, as the store's clock does.
struct HOLDFAST_EXPORT lease_clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<lease_clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

}  // namespace holdfast
