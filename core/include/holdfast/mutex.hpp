#pragma once

#include <holdfast/client.hpp>
#include <holdfast/detail/held_leases.hpp>
#include <holdfast/detail/timed_lockable.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

/// Exclusive lock on `name`, shared by all processes that use the same store.
///
/// Meets Cpp17TimedLockable. Not re-entrant. Ownership is this object's, not a thread's.
///
/// Thread safety: distinct objects: safe. Shared object: safe.
/// Blocks on: the store; unlock at most client_options::request_timeout.
/// Lost when: the ttl passes without renewal; then lost() of the lease is stopped *before* another owner can get in.
///            The std face has no lease to ask: use acquire() where loss matters. See docs/safety.md.
class HOLDFAST_EXPORT mutex : public detail::timed_lockable<mutex> {
 public:
  /// Throws holdfast::error: invalid_argument (the name), unsupported (the order, on this store).
  mutex(client c, std::string name, lock_options options = {});
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock();                    ///< Throws holdfast::error: unavailable, rejected.
  [[nodiscard]] bool try_lock();  ///< false: somebody else holds it. Throws as lock().
  [[nodiscard]] bool try_lock_within(optional_duration wait);
  void unlock() noexcept;  ///< Requires: held by this object; else nothing is released and a warning is logged.

  /// Waits for the lock. Throws holdfast::error: timed_out, cancelled, unavailable, rejected, invalid_argument.
  [[nodiscard]] lease acquire(acquire_options options = {}, std::stop_token stop = {});
  /// nullopt: not obtained within options.wait (none given: at once). Throws as acquire, but for timed_out.
  [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {}, std::stop_token stop = {});
  /// acquire() without a thread. Malformed options are an outcome, not thrown.
  operation<lease> async_acquire(acquire_options options = {}, std::stop_token stop = {});

  const std::string& name() const noexcept { return name_; }
  const client& store() const noexcept { return client_; }
  const lock_options& options() const noexcept { return options_; }

 private:
  client client_;
  std::string name_;
  lock_options options_;
  detail::held_leases held_;
};

}  // namespace holdfast
