#pragma once

#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast {

/// Counts of durations in buckets that double: bucket i holds those below 2^i nanoseconds (and not below 2^(i-1)).
struct HOLDFAST_EXPORT histogram {
  std::array<std::uint64_t, 64> buckets{};
  std::uint64_t count() const noexcept;
  /// An upper bound of the q-quantile (0 to 1), exact to a factor of two. Zero when empty.
  std::chrono::nanoseconds quantile(double q) const noexcept;
};

/// What one client has done since it was made.
struct client_stats {
  std::uint64_t acquired = 0;     ///< Leases granted, local handovers included.
  std::uint64_t handed_over = 0;  ///< Of those, passed on inside this process without asking the store.
  std::uint64_t contended = 0;    ///< Acquisitions that had to wait.
  std::uint64_t busy = 0;         ///< try_acquire that came back empty-handed.
  std::uint64_t timed_out = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;  ///< Acquisitions that ended in an error.
  std::uint64_t released = 0;
  std::uint64_t lost = 0;
  std::uint64_t renewed = 0;           ///< Leases renewed in the background.
  std::uint64_t renewal_failures = 0;  ///< Batches of renewals the store did not answer.
  std::uint64_t held = 0;              ///< Leases held now.
  histogram wait;                      ///< From asking to the grant.
  histogram hold;                      ///< From the grant to release or loss.
  histogram renewal;                   ///< One batch of renewals.
};

/// What client::on_event tells.
struct event {
  enum class kind {
    acquired,
    released,
    lost,
    renewal_failed,
    asked_for,  ///< Somebody asks that it be released (ZooKeeper: Curator's revocation). Nothing happens by itself.
  };
  kind what = kind::acquired;
  std::string name;
  fencing_token token;
  loss cause = loss::none;
  std::string detail;
};
HOLDFAST_EXPORT const char* to_string(event::kind what) noexcept;

}  // namespace holdfast
