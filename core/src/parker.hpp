#pragma once

#include <linux/futex.h>
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
    if (state_.exchange(is_set) == asleep) ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  /// By the thread that is about to wait: it will be set in a moment, so wait() looks out for that before it sleeps.
  void look_out() noexcept {
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
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

  std::uint32_t* word() noexcept { return reinterpret_cast<std::uint32_t*>(&state_); }

  /// True: it was set. About as long as falling asleep and being woken takes; longer would cost more than it saves.
  /// Without yielding: on a busy machine the processor would come back long after the lock did.
  bool watch() const noexcept {
    using clock = std::chrono::steady_clock;
    const auto until = clock::now() + std::chrono::microseconds(50);
    do {
      for (int i = 0; i < 32; ++i) {
        if (state_.load(std::memory_order_acquire) == is_set) return true;
        relax();
      }
    } while (clock::now() < until);
    return false;
  }

  static void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<std::uint32_t> state_{empty};
};

}  // namespace holdfast::detail
