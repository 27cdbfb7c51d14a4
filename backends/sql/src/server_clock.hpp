#pragma once

#include <holdfast/backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace holdfast::sql {

/// Tells when, on our clock, something happened at the database: never later than it did, as leases need it, as long as
/// the database's clock does not jump.
///
/// Thread safety: safe.
class server_clock {
 public:
  /// The database's clock showed `micros` in the answer to a request that was sent at `sent`.
  void note(std::int64_t micros, spi::time_point sent) {
    const std::lock_guard lock(mutex_);
    if (sent < sent_) return;
    micros_ = micros;
    sent_ = sent;
  }

  spi::time_point when(std::int64_t micros, spi::time_point now) const {
    const std::lock_guard lock(mutex_);
    if (micros_ == 0) return sent_;
    return std::min(now, sent_ + std::chrono::microseconds(micros - micros_));
  }

  /// What the database's clock will show at `moment`, at most; 0: it was not heard of for a while.
  std::int64_t at(spi::time_point moment, spi::time_point now) const {
    const std::lock_guard lock(mutex_);
    if (micros_ == 0 || now - sent_ > std::chrono::minutes(1)) return 0;
    return micros_ + std::chrono::duration_cast<std::chrono::microseconds>(moment - sent_).count();
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t micros_ = 0;
  spi::time_point sent_;
};

}  // namespace holdfast::sql
