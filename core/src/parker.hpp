#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace holdfast::detail {

/// Parks one thread until another sets it. Lives on the parked thread's stack.
///
/// A bare futex and not a condition variable: the setter may touch nothing of ours after the waiter has seen the flag,
/// since the waiter's stack may be gone. (A futex wake on an address in other use is a spurious wake there, harmless.)
class parker {
 public:
  void set() noexcept {
    auto* word = reinterpret_cast<std::uint32_t*>(&state_);
    if (state_.exchange(is_set) == waiting) ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  void wait() noexcept {
    std::uint32_t expected = empty;
    if (!state_.compare_exchange_strong(expected, waiting)) return;
    while (state_.load() != is_set)
      ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state_), FUTEX_WAIT_PRIVATE, waiting, nullptr, nullptr, 0);
  }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t is_set = 1;
  static constexpr std::uint32_t waiting = 2;
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

  std::atomic<std::uint32_t> state_{empty};
};

}  // namespace holdfast::detail
