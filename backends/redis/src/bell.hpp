#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace holdfast::redis {

/// Wakes one thread that waits for it, as often as it is rung and heard in turn. It may live on that thread's stack:
/// nothing of it is touched once the thread can have heard it. (A semaphore of the standard library would yield the
/// processor a few times before it sleeps, each time to a thread that does the same.)
class bell {
 public:
  void ring() noexcept {
    auto* const word = reinterpret_cast<std::uint32_t*>(&state_);
    if (state_.exchange(rung) == asleep) ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  void wait() noexcept {
    std::uint32_t seen = silent;
    if (state_.compare_exchange_strong(seen, asleep)) {
      do
        ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state_), FUTEX_WAIT_PRIVATE, asleep, nullptr, nullptr,
                  0);
      while (state_.load() != rung);
    }
    state_ = silent;
  }

 private:
  static constexpr std::uint32_t silent = 0;
  static constexpr std::uint32_t rung = 1;
  static constexpr std::uint32_t asleep = 2;
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

  std::atomic<std::uint32_t> state_{silent};
};

}  // namespace holdfast::redis
