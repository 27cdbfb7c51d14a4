#pragma once

#include <holdfast/mutex.hpp>

#include <functional>
#include <initializer_list>
#include <vector>

namespace holdfast {

/// Several mutexes, of any stores, taken together: all of them or none.
///
/// Meets Cpp17TimedLockable. Taken in one order everywhere (by store, then name), whatever the order given, so that two
/// multi_mutexes cannot wait for each other; a wait that lasts while others are held is given up and begun again.
///
/// The members must outlive it. The lease is lost as soon as one member's is; its token is the greatest of the
/// members', which increases from grant to grant of the same set.
///
/// Thread safety: safe. Blocks on: the stores.
class HOLDFAST_EXPORT multi_mutex : public detail::timed_lockable<multi_mutex> {
 public:
  /// Throws holdfast::error: invalid_argument (none), deadlock (one lock twice).
  explicit multi_mutex(std::vector<std::reference_wrapper<mutex>> members);
  multi_mutex(std::initializer_list<std::reference_wrapper<mutex>> members);
  multi_mutex(const multi_mutex&) = delete;
  multi_mutex& operator=(const multi_mutex&) = delete;

  void lock();
  [[nodiscard]] bool try_lock();
  [[nodiscard]] bool try_lock_within(optional_duration wait);
  void unlock() noexcept;

  [[nodiscard]] lease acquire(acquire_options options = {}, std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {}, std::stop_token stop = {});
  operation<lease> async_acquire(acquire_options options = {}, std::stop_token stop = {});

 private:
  std::vector<std::reference_wrapper<mutex>> members_;
  detail::held_leases held_;
};

}  // namespace holdfast
