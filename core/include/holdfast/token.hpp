#pragma once

#include <compare>
#include <cstdint>

namespace holdfast {

/// A fencing token: strictly greater with every grant of one name, on every store, over restarts and failovers.
///
/// Send it with each write to the thing the lock protects and let that thing refuse a smaller one (see fence):
/// a holder that was paused beyond its ttl is then harmless.
class fencing_token {
 public:
  constexpr fencing_token() noexcept = default;
  constexpr fencing_token(std::uint64_t value) noexcept : value_(value) {}

  constexpr std::uint64_t value() const noexcept { return value_; }
  friend constexpr auto operator<=>(fencing_token, fencing_token) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace holdfast
