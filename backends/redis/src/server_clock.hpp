#pragma once

#include <holdfast/backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace holdfast::redis {

/// Tells when, on our clock, something happened at the server: never later than it did, as leases need it, as long as
/// the server's clock does not jump.
///
/// Thread safety: safe.
class server_clock {
 public:
  /// The server's clock showed `micros` in the answer to a request that was sent at `sent`.
  void note(std::uint64_t micros, spi::time_point sent) {
    const std::lock_guard lock(mutex_);
    if (sent < sent_) return;
    micros_ = micros;
    sent_ = sent;
  }

  spi::time_point when(std::uint64_t micros, spi::time_point now) const {
    const std::lock_guard lock(mutex_);
    if (micros_ == 0) return sent_;
    const auto since = std::chrono::microseconds(static_cast<std::int64_t>(micros - micros_));
    return std::min(now, sent_ + since);
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t micros_ = 0;
  spi::time_point sent_;
};

}  // namespace holdfast::redis
