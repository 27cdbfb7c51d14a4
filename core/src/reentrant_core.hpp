#pragma once

#include "grant_hold.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/options.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace holdfast::detail {

/// The state of a recursive_mutex: which thread holds it, how often, by which hold.
///
/// Tenure and depth share one word, so that a thread whose hold was lost, and replaced by another thread's, cannot
/// count itself into the new tenure. Lock and re-entry by the owner touch only atomics.
class reentrant_core : public std::enable_shared_from_this<reentrant_core> {
 public:
  reentrant_core(client c, std::string name, lock_options options);

  const client store;
  const std::string name;
  const lock_options options;

  /// One deeper if the calling thread holds it. False: it does not. Throws errc::lost if its hold is lost.
  bool reenter();
  /// Starts a tenure for the calling thread, or for none (nobody re-enters it).
  void adopt(std::shared_ptr<hold> outer, std::thread::id owner);
  /// One less deep, by the owning thread. False: the calling thread does not own it.
  bool unlock() noexcept;
  /// A lease on what the calling thread, or nobody, has just entered.
  lease nested();

  struct undone {
    bool current = false;        ///< The tenure was still the present one.
    std::shared_ptr<hold> last;  ///< The hold to release, if this was the last.
  };
  undone leave(std::uint32_t tenure) noexcept;

 private:
  static constexpr std::uint64_t one_tenure = std::uint64_t{1} << 32;
  static std::uint32_t depth_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
  static std::uint32_t tenure_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word >> 32); }

  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::thread::id> owner_{std::thread::id()};

  // What the owner looks at when it re-enters, without the mutex.
  std::atomic<const grant_hold*> current_{nullptr};

  std::mutex mutex_;
  std::shared_ptr<hold> outer_;
  // Lost holds that another thread's tenure replaced. Their owner may be looking at one this moment, so the last few
  // stay; more losses than that do not fit into one look.
  std::deque<std::shared_ptr<hold>> retired_;
};

}  // namespace holdfast::detail
