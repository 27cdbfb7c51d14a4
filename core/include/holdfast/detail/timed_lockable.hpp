#pragma once

#include <holdfast/options.hpp>

#include <chrono>

namespace holdfast::detail {

/// How long it is until `deadline`, zero if it has passed. Compared first: time_point::min() less now overflows.
template <class Clock, class Duration>
optional_duration until(const std::chrono::time_point<Clock, Duration>& deadline) {
  const auto now = Clock::now();
  if (deadline <= now) return std::chrono::nanoseconds::zero();
  return deadline - now;
}

/// The two timed forms of try_lock in terms of one, `Derived::try_lock_within(optional_duration)`.
template <class Derived>
class timed_lockable {
 public:
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
    return static_cast<Derived*>(this)->try_lock_within(at_least_zero(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return static_cast<Derived*>(this)->try_lock_within(until(deadline));
  }

  /// As the standard has it: a wait that is over before it began is a plain try.
  static constexpr optional_duration at_least_zero(optional_duration wait) {
    return wait.value() < std::chrono::nanoseconds::zero() ? optional_duration(std::chrono::nanoseconds::zero()) : wait;
  }
};

}  // namespace holdfast::detail
