#pragma once

#include <holdfast/client.hpp>
#include <holdfast/detail/timed_lockable.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

namespace detail {
class reentrant_core;
}

/// A mutex that the thread holding it may take again, through lock() and acquire() alike, without asking the store.
///
/// Meets Cpp17TimedLockable. Held until every lock(), acquire() and try_ of the owning thread has been undone. Re-entry
/// is this object's: another recursive_mutex of the same name is another contender, also on the same thread. Excludes
/// and is excluded by `mutex` of the same name.
///
/// Thread safety: distinct objects: safe. Shared object: safe. unlock() belongs to the thread that locked; a lease may
/// be released on any thread.
/// Blocks on: the store, for the outermost acquisition and release only.
/// Lost when: as mutex. Taking it again after the loss throws errc::lost until the thread has undone its holds.
class HOLDFAST_EXPORT recursive_mutex : public detail::timed_lockable<recursive_mutex> {
 public:
  recursive_mutex(client c, std::string name, lock_options options = {});
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;
  ~recursive_mutex();

  void lock();
  [[nodiscard]] bool try_lock();
  [[nodiscard]] bool try_lock_within(optional_duration wait);
  void unlock() noexcept;

  /// A ttl given on re-entry is ignored: the outermost acquisition decides.
  [[nodiscard]] lease acquire(acquire_options options = {}, std::stop_token stop = {});
  [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {}, std::stop_token stop = {});
  /// Re-enters if called on the owning thread. Otherwise the lease belongs to no thread: nobody re-enters it.
  operation<lease> async_acquire(acquire_options options = {}, std::stop_token stop = {});

  const std::string& name() const noexcept;

 private:
  std::shared_ptr<detail::reentrant_core> core_;
};

}  // namespace holdfast
