#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace holdfast::sql {

/// Tells when, on our clock, something happened at the database: never later than it did, as leases need it, as long as
/// the database's clock does not jump.
///
/// Thread safety: safe.
class server_clock {
 public:
  /// The database's clock showed `micros` in the answer to a request that was sent at `sent` and answered by `heard`.
  void note(std::int64_t micros, spi::time_point sent, spi::time_point heard) {
    const std::lock_guard lock(mutex_);
    if (sent < sent_) return;
    micros_ = micros;
    sent_ = sent;
    heard_ = heard;
  }

  /// Nothing: nobody knows. What would be later than now is one such case: the clock has jumped, or is another one.
  std::optional<spi::time_point> when(std::int64_t micros, spi::time_point now) const {
    const std::lock_guard lock(mutex_);
    const auto moment = sent_ + std::chrono::microseconds(micros - micros_);
    if (micros_ == 0 || moment > now) return std::nullopt;
    return moment;
  }

  /// What the database's clock shows at `moment`, or less; 0: it was never heard of.
  std::int64_t at(spi::time_point moment) const {
    const std::lock_guard lock(mutex_);
    if (micros_ == 0) return 0;
    return micros_ + std::chrono::duration_cast<std::chrono::microseconds>(moment - heard_).count();
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t micros_ = 0;
  spi::time_point sent_;
  spi::time_point heard_;
};

}  // namespace holdfast::sql
