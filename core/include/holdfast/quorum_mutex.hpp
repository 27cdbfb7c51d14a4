#pragma once

#include <holdfast/mutex.hpp>

#include <functional>
#include <initializer_list>
#include <vector>

namespace holdfast {

/// One lock over several mutexes on independent stores: held while a majority (n/2 + 1) of them is.
///
/// Meets Cpp17TimedLockable. Survives the failure of the minority: dead members cost nothing beyond the first failed
/// answer, slow ones are passed over. With more dead than that: errc::unavailable, and nothing stays held.
///
/// The members must outlive it. The lease is lost when the valid members fall below the majority. Its token is greater
/// than that of every earlier quorum: the greatest is written back to a majority before the lease is handed out.
///
/// Thread safety: safe. Blocks on: the stores, at most as long as the majority takes.
class HOLDFAST_EXPORT quorum_mutex : public detail::timed_lockable<quorum_mutex> {
 public:
  /// Throws holdfast::error: invalid_argument (none), deadlock (one lock twice), unsupported (a store whose tokens
  /// cannot be raised).
  explicit quorum_mutex(std::vector<std::reference_wrapper<mutex>> members);
  quorum_mutex(std::initializer_list<std::reference_wrapper<mutex>> members);
  quorum_mutex(const quorum_mutex&) = delete;
  quorum_mutex& operator=(const quorum_mutex&) = delete;

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
