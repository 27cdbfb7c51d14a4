#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::cli {

/// Where the keeper is on its way.
enum class phase : int {
  connecting,  ///< Nothing of ours is in the store.
  abandoned,   ///< The supervisor gave up while the keeper was connecting; it may be killed.
  waiting,     ///< Asking for the lock.
  running,     ///< The lock is held and the command has been started.
  ending,      ///< The keeper is ending what is left of the command; it needs no watchdog.
};

/// What the keeper writes down for its supervisor: a page that both processes see, so that the supervisor can read it
/// also while the keeper is stopped.
class ledger {
 public:
  ledger();  ///< Throws std::system_error.
  ~ledger();
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  phase where() const noexcept { return page_->where; }
  void enter(phase next) noexcept { page_->where = next; }
  /// Connecting ends once: either the keeper goes on (waiting) or the supervisor gives it up (abandoned).
  bool end_connecting(phase next) noexcept {
    phase expected = phase::connecting;
    return page_->where.compare_exchange_strong(expected, next);
  }

  /// CLOCK_BOOTTIME nanoseconds at which the lease ends unless renewed, as far as the keeper has looked.
  std::int64_t valid_until() const noexcept { return page_->valid_until; }
  void publish(std::int64_t valid_until) noexcept { page_->valid_until = valid_until; }

 private:
  struct page {
    std::atomic<phase> where;
    std::atomic<std::int64_t> valid_until;
  };
  static_assert(std::atomic<phase>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
                "a lock inside an atomic would not work between processes");

  page* page_;
};

}  // namespace holdfast::cli
