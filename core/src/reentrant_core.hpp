#pragma once

#include "grant_hold.hpp"

#include <holdfast/lease.hpp>
#include <holdfast/options.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace holdfast::detail {

/// A number of the calling thread's own, never given to another: std::thread::id is reused when a thread has ended.
/// 0 is nobody's.
std::uint64_t this_thread_number() noexcept;

/// The state of a recursive_mutex: which thread holds it, how often, by which hold.
///
/// Every outermost acquisition is a tenure with a number. Tenure and depth share one word, so that a thread whose hold
/// was lost, and replaced by another thread's, cannot count itself into the new tenure. Re-entry by the owner touches
/// only atomics.
class reentrant_core : public std::enable_shared_from_this<reentrant_core> {
 public:
  using tenure = std::uint32_t;

  reentrant_core(std::shared_ptr<detail::engine> engine, std::string name, lock_options options);
  ~reentrant_core();  ///< Drops what is still held.

  /// Not a client: leases keep this alive, and what a client calls unasked ends with the locks.
  const std::shared_ptr<detail::engine> engine;
  const std::string name;
  const lock_options options;

  /// One deeper if the calling thread holds it; the tenure it is in. Throws errc::lost if its hold is lost.
  std::optional<tenure> reenter();
  /// Starts a tenure for the thread of that number; 0: for none, nobody re-enters it.
  tenure adopt(std::shared_ptr<hold> outer, std::uint64_t owner);
  /// One less deep, by the owning thread. False: the calling thread does not own it.
  bool unlock() noexcept;
  /// A lease on an entry of that tenure.
  lease nested(tenure entered);

  struct departure {
    bool current = false;        ///< The tenure was still the present one.
    std::shared_ptr<hold> last;  ///< The hold to release, if this was the last.
  };
  departure leave(tenure entered) noexcept;

 private:
  static std::uint32_t depth_of(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word); }
  static tenure tenure_of(std::uint64_t word) noexcept { return static_cast<tenure>(word >> 32); }

  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> owner_{0};
  // What the owner looks at, once it has counted itself in.
  std::atomic<const grant_hold*> current_{nullptr};

  std::mutex mutex_;
  std::shared_ptr<hold> outer_;
  // Lost holds that another tenure replaced, with its number. Their owner may be looking at one this moment, and its
  // entries are still to be undone; the last few stay.
  std::deque<std::pair<tenure, std::shared_ptr<hold>>> retired_;
};

}  // namespace holdfast::detail
