#pragma once

#include <holdfast/detail/function.hpp>
#include <holdfast/lease_clock.hpp>

#include <cstdint>

namespace holdfast::detail {

/// The lease clock and timers on it. Injected, so that tests can move time by hand. Thread safety: safe.
class scheduler {
 public:
  using timer = std::uint64_t;  ///< 0 is never given out.

  virtual ~scheduler() = default;
  virtual lease_clock::time_point now() const noexcept = 0;
  /// Runs `task` once at `when`. It must not block: other timers, loss signals among them, wait for it.
  virtual timer at(lease_clock::time_point when, unique_function<void()> task) = 0;
  virtual void cancel(timer t) noexcept = 0;  ///< No effect if it ran or runs.
  /// Drops what is pending; nothing runs when it returns. Not from one of its own tasks.
  virtual void shut_down() {}
};

}  // namespace holdfast::detail
