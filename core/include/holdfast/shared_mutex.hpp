#pragma once

#include <holdfast/client.hpp>
#include <holdfast/detail/held_leases.hpp>
#include <holdfast/detail/timed_lockable.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

/// Many readers or one writer on `name`.
///
/// Meets Cpp17SharedTimedMutex (std::unique_lock, std::shared_lock). Not re-entrant. A waiting writer is not starved by
/// readers that come after it, but on `file:`, whose queue is the kernel's. The lease of a writer can be downgraded in
/// place; that of the only reader can be upgraded.
///
/// Thread safety: distinct objects: safe. Shared object: safe.
/// Blocks on: the store. Lost when: as mutex. Tokens: writers' strictly increase; a reader's is greater than that of
/// every writer before it.
class HOLDFAST_EXPORT shared_mutex : public detail::timed_lockable<shared_mutex> {
 public:
  shared_mutex(client c, std::string name, lock_options options = {});
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  void lock();
  [[nodiscard]] bool try_lock();
  [[nodiscard]] bool try_lock_within(optional_duration wait);
  void unlock() noexcept;

  void lock_shared();
  [[nodiscard]] bool try_lock_shared();
  [[nodiscard]] bool try_lock_shared_within(optional_duration wait);
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
    return try_lock_shared_within(at_least_zero(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return try_lock_shared_within(detail::until(deadline));
  }
  void unlock_shared() noexcept;

  [[nodiscard]] lease acquire(acquire_options options = {}, std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {}, std::stop_token stop = {});
  operation<lease> async_acquire(acquire_options options = {}, std::stop_token stop = {});

  [[nodiscard]] lease acquire_shared(acquire_options options = {}, std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire_shared(acquire_options options = {}, std::stop_token stop = {});
  operation<lease> async_acquire_shared(acquire_options options = {}, std::stop_token stop = {});

  const std::string& name() const noexcept { return name_; }

 private:
  client client_;
  std::string name_;
  lock_options options_;
  detail::held_leases exclusive_;
  detail::held_leases shared_;
};

}  // namespace holdfast
