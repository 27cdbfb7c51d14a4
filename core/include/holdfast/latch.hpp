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

/// A count in the store that goes down to zero and lets everybody through there. Zero, or never set: open.
///
/// After zero it may be set again. The count outlives the processes that use it.
///
/// Thread safety: safe. Blocks on: the store. Negative amounts: errc::invalid_argument.
class HOLDFAST_EXPORT latch {
 public:
  latch(client c, std::string name);

  bool try_set_count(std::ptrdiff_t n);   ///< Sets the count if it is zero; false if it is not.
  void count_down(std::ptrdiff_t n = 1);  ///< Never below zero.
  std::ptrdiff_t count() const;

  [[nodiscard]] bool try_wait() const;
  void wait(std::stop_token stop = {}) const;
  [[nodiscard]] bool wait_within(optional_duration wait, std::stop_token stop = {}) const;
  template <class Rep, class Period>
  bool wait_for(const std::chrono::duration<Rep, Period>& wait) const {
    return wait_within(wait);
  }
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& deadline) const {
    return wait_within(detail::until(deadline));
  }
  operation<void> async_wait(acquire_options options = {}, std::stop_token stop = {}) const;
  void arrive_and_wait(std::ptrdiff_t n = 1);

  const std::string& name() const noexcept { return name_; }

 private:
  client client_;
  std::string name_;
};

}  // namespace holdfast
