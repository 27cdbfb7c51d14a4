#pragma once

#include "redis_backend.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// One server of a quorum: who it is, whether it answers, and whether it may vote.
///
/// A server that was restarted may have forgotten who holds what. Unless it keeps everything it has acknowledged
/// (appendfsync always), it does not vote until it has been up for longer than the ttl of the clients, which are taken
/// to have the same.
///
/// Thread safety: safe.
class redlock_node {
 public:
  using on_lost = std::function<void(const spi::owner_id&, loss)>;

  redlock_node(settings where, spi::runtime& engine, on_lost lost);

  result<void> open();
  redis_backend& store() noexcept { return store_; }
  std::string shown() const { return where_.shown(); }

  /// Why a claim with this ttl must not be asked about here now: a server that does not answer gets one question at a
  /// time, a slow one not too many, and one that was restarted none.
  std::optional<failure> refusal(std::chrono::nanoseconds ttl) const;
  /// The time from which a restarted server votes again on claims of that ttl.
  spi::time_point votes_from(std::chrono::nanoseconds ttl) const;

  /// Did not answer the last question.
  bool silent() const noexcept { return silent_; }

  /// Every question to the store is counted by these two.
  void asked() noexcept { ++under_way_; }
  void answered(const std::error_code& outcome) noexcept;

 private:
  class runtime;

  void introduced(std::string_view info, std::string_view fsync);

  const settings where_;
  spi::runtime& engine_;
  const std::unique_ptr<spi::runtime> filtered_;
  mutable std::mutex mutex_;
  std::optional<spi::time_point> up_since_;  // none: it forgets nothing, or nothing is known yet
  std::atomic<bool> tells_uptime_{true};
  std::atomic<bool> silent_{false};
  std::atomic<int> under_way_{0};
  redis_backend store_;
};

}  // namespace holdfast::redis
