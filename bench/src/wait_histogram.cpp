#include "wait_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace holdfast::bench {

// Values below 32 have a bucket each. Above, the position of the highest bit chooses a group of 32 buckets and the five
// bits after it the bucket.
std::size_t wait_histogram::bucket_of(std::uint64_t nanoseconds) noexcept {
  constexpr std::uint64_t fine = 1u << fine_bits;
  const std::uint64_t value = std::min(nanoseconds, (std::uint64_t{1} << doublings) - 1);
  if (value < fine) return static_cast<std::size_t>(value);
  const unsigned group = static_cast<unsigned>(std::bit_width(value)) - fine_bits;  // 1 for 32..63
  return (std::size_t{group} << fine_bits) + static_cast<std::size_t>((value >> (group - 1)) - fine);
}

std::uint64_t wait_histogram::upper_bound(std::size_t bucket) noexcept {
  const std::size_t group = bucket >> fine_bits;
  const std::uint64_t within = bucket & ((1u << fine_bits) - 1);
  if (group == 0) return within;
  const std::uint64_t low = ((std::uint64_t{1} << fine_bits) + within) << (group - 1);
  return low + (std::uint64_t{1} << (group - 1)) - 1;
}

void wait_histogram::record(std::chrono::nanoseconds wait) noexcept {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(wait.count(), 0));
  ++buckets_[bucket_of(value)];
  ++count_;
  longest_ = std::max(longest_, value);
}

void wait_histogram::merge(const wait_histogram& other) noexcept {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  longest_ = std::max(longest_, other.longest_);
}

std::chrono::nanoseconds wait_histogram::quantile(double q) const noexcept {
  if (count_ == 0) return std::chrono::nanoseconds::zero();
  const auto rank = static_cast<std::uint64_t>(std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_)));
  const std::uint64_t wanted = std::max<std::uint64_t>(rank, 1);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::chrono::nanoseconds(std::min(upper_bound(i), longest_));
  }
  return longest();
}

}  // namespace holdfast::bench
