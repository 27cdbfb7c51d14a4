#pragma once

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <span>
#include <thread>

namespace holdfast::redis {

/// Receives; looks for a while before it falls asleep. To fall asleep and be woken takes two processors longer than a
/// server nearby needs to answer. Where the answers of a server take longer, or others want the processor, it is hardly
/// ever tried.
class look_out {
 public:
  /// As recv(). Blocks.
  ssize_t receive(int fd, std::span<char> into) noexcept {
    if (skip_ == 0) {
      const ssize_t got = look(fd, into);
      if (got >= 0 || errno != EAGAIN) return misses_ = 0, got;
      if (misses_ < most_misses) ++misses_;
      skip_ = (1U << misses_) - 1;
    } else {
      --skip_;
    }
    return ::recv(fd, into.data(), into.size(), 0);
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr auto longest = std::chrono::microseconds(100);
  static constexpr unsigned most_misses = 10;

  static ssize_t look(int fd, std::span<char> into) noexcept {
    static const bool alone = std::thread::hardware_concurrency() < 2;  // the server needs this very processor
    errno = EAGAIN;
    if (alone) return -1;
    for (const auto until = clock::now() + longest; clock::now() < until; ::sched_yield()) {
      const ssize_t got = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
      if (got >= 0 || errno != EAGAIN) return got;
    }
    errno = EAGAIN;
    return -1;
  }

  unsigned misses_ = 0;
  unsigned skip_ = 0;
};

}  // namespace holdfast::redis
