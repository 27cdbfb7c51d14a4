#pragma once

#include <holdfast/backend.hpp>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace holdfast::detail {

/// Parks one thread until another sets it. Lives on the parked thread's stack.
///
/// A bare futex and not a condition variable: the setter may touch nothing of ours after the waiter has seen the flag,
/// since the waiter's stack may be gone. (A futex wake on an address in other use is a spurious wake there, harmless.)
class parker {
 public:
  void set() noexcept {
    auto* word = this->word();
    const auto before = state_.exchange(is_set);
    if (before == asleep) ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    if (before == lent) borrower_->end(loan_);  // until then the thread stays
  }

  /// By the thread that is about to wait: the store may use it meanwhile.
  void lend(spi::backend& store) {
    std::uint32_t seen = empty;
    borrower_ = &store;
    if (!state_.compare_exchange_strong(seen, lent) || store.lend(loan_)) return;
    seen = lent;
    if (!state_.compare_exchange_strong(seen, empty)) loan_.bell.acquire();
  }

  /// By the thread that is about to wait: it will be set in a moment, so wait() looks out for that before it sleeps.
  /// Not where others want the processors: it would be set while the thread waits for one.
  void look_out() noexcept {
    if (clock::now().time_since_epoch().count() < crowded_until_.load(std::memory_order_relaxed)) return;
    std::uint32_t expected = empty;
    state_.compare_exchange_strong(expected, looking_out);
  }
  /// set() costs nothing now: nobody has to be woken.
  bool looks_out() const noexcept { return state_.load(std::memory_order_relaxed) == looking_out; }

  void wait() noexcept {
    std::uint32_t seen = state_.load();
    if (seen == is_set || (seen == looking_out && watch())) return;
    if (!state_.compare_exchange_strong(seen, asleep)) return;
    while (state_.load() != is_set) ::syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, asleep, nullptr, nullptr, 0);
  }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t is_set = 1;
  static constexpr std::uint32_t asleep = 2;
  static constexpr std::uint32_t looking_out = 3;
  static constexpr std::uint32_t lent = 4;
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

  std::uint32_t* word() noexcept { return reinterpret_cast<std::uint32_t*>(&state_); }

  /// True: it was set. About as long as falling asleep and being woken takes; longer would cost more than it saves.
  bool watch() const noexcept {
    auto now = clock::now();
    const auto until = now + std::chrono::microseconds(50);
    while (now < until) {
      for (int i = 0; i < 100; ++i)
        if (state_.load(std::memory_order_acquire) == is_set) return true;
      const auto before = now;
      ::sched_yield();  // the one who is to set it may need this very core
      now = clock::now();
      if (now - before > std::chrono::microseconds(500))
        crowded_until_ = (now + std::chrono::milliseconds(20)).time_since_epoch().count();
    }
    return state_.load() == is_set;
  }

  using clock = std::chrono::steady_clock;
  // Somebody who only looked on was kept from its core for long: until then nobody does.
  static inline std::atomic<clock::rep> crowded_until_{0};

  std::atomic<std::uint32_t> state_{empty};
  spi::backend* borrower_ = nullptr;
  spi::loan loan_;
};

}  // namespace holdfast::detail
