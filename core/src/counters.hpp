#pragma once

#include <holdfast/stats.hpp>

#include <algorithm>
#include <atomic>
#include <bit>

namespace holdfast::detail {

/// A count that many threads raise. Relaxed: numbers for people, nothing is ordered by them.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void subtract() noexcept { value_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class duration_counts {
 public:
  void record(std::chrono::nanoseconds took) noexcept {
    const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
    buckets_[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(positive)), 63)].add();
  }
  histogram snapshot() const noexcept {
    histogram copy;
    for (std::size_t i = 0; i < buckets_.size(); ++i) copy.buckets[i] = buckets_[i].value();
    return copy;
  }

 private:
  std::array<counter, 64> buckets_;
};

/// The live numbers behind client_stats.
struct counters {
  counter acquired, handed_over, contended, busy, timed_out, cancelled, failed, released, lost, renewed,
      renewal_failures, held;
  duration_counts wait, hold, renewal;

  client_stats snapshot() const;
};

}  // namespace holdfast::detail
