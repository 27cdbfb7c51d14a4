#include <holdfast/stats.hpp>

#include "counters.hpp"

#include <holdfast/inspect.hpp>

#include <cmath>
#include <numeric>

namespace holdfast {

std::uint64_t histogram::count() const noexcept {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

std::chrono::nanoseconds histogram::quantile(double q) const noexcept {
  const auto all = count();
  if (all == 0) return std::chrono::nanoseconds::zero();
  const auto wanted = static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(all)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    seen += buckets[i];
    if (seen >= wanted && seen > 0) return std::chrono::nanoseconds(i == 63 ? INT64_MAX : std::int64_t{1} << i);
  }
  return std::chrono::nanoseconds::max();
}

const char* to_string(event::kind what) noexcept {
  switch (what) {
    case event::kind::acquired:
      return "acquired";
    case event::kind::released:
      return "released";
    case event::kind::lost:
      return "lost";
    case event::kind::renewal_failed:
      return "renewal_failed";
    case event::kind::asked_for:
      return "asked_for";
  }
  return "unknown";
}

const char* to_string(finding::level how) noexcept {
  switch (how) {
    case finding::level::fact:
      return "fact";
    case finding::level::warning:
      return "warning";
    case finding::level::danger:
      return "danger";
  }
  return "?";
}

const char* to_string(change::kind what) noexcept {
  switch (what) {
    case change::kind::granted:
      return "granted";
    case change::kind::released:
      return "released";
    case change::kind::waiting:
      return "waiting";
    case change::kind::left:
      return "left";
  }
  return "unknown";
}

namespace detail {

client_stats counters::snapshot() const {
  client_stats s;
  s.acquired = acquired.value();
  s.handed_over = handed_over.value();
  s.contended = contended.value();
  s.busy = busy.value();
  s.timed_out = timed_out.value();
  s.cancelled = cancelled.value();
  s.failed = failed.value();
  s.released = released.value();
  s.lost = lost.value();
  s.renewed = renewed.value();
  s.renewal_failures = renewal_failures.value();
  s.held = held.value();
  s.wait = wait.snapshot();
  s.hold = hold.snapshot();
  s.renewal = renewal.snapshot();
  return s;
}

}  // namespace detail

}  // namespace holdfast
