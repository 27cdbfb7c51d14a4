#pragma once

#include <holdfast/client.hpp>
#include <holdfast/detail/timed_lockable.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>

namespace holdfast {

/// A number of permits in the store, without owners: whoever takes one may die with it, and anybody may give one.
/// Where a crash must give permits back, use permit_semaphore.
///
/// Shaped like std::counting_semaphore. Until somebody calls try_set_permits (or release) there are none.
///
/// Thread safety: safe. Blocks on: the store. Negative amounts: errc::invalid_argument (but for add_permits).
class HOLDFAST_EXPORT counting_semaphore {
 public:
  counting_semaphore(client c, std::string name);

  bool try_set_permits(std::ptrdiff_t n);  ///< Sets the number if it was never set; false if it was.
  void add_permits(std::ptrdiff_t n);      ///< Changes the number; negative takes away, also below zero.

  void acquire(std::ptrdiff_t n = 1, std::stop_token stop = {});  ///< Takes n at once, waiting for them.
  [[nodiscard]] bool try_acquire(std::ptrdiff_t n = 1);
  [[nodiscard]] bool try_acquire_within(optional_duration wait, std::ptrdiff_t n = 1, std::stop_token stop = {});
  template <class Rep, class Period>
  [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& wait, std::ptrdiff_t n = 1) {
    return try_acquire_within(wait, n);
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& deadline, std::ptrdiff_t n = 1) {
    return try_acquire_within(detail::until(deadline), n);
  }
  operation<void> async_acquire(acquire_options options = {}, std::stop_token stop = {}, std::ptrdiff_t n = 1);

  void release(std::ptrdiff_t n = 1);
  std::ptrdiff_t available() const;
  std::ptrdiff_t drain();  ///< Takes all there are; how many that was.

  const std::string& name() const noexcept { return name_; }

 private:
  client client_;
  std::string name_;
};

}  // namespace holdfast
