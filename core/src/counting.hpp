#pragma once

#include "ask.hpp"

namespace holdfast::detail {

/// One step on the number behind a semaphore or latch.
inline spi::count_reply count(const client& c, const std::string& name, spi::kind kind, spi::count_request::op what,
                              std::int64_t amount, const char* operation) {
  auto& e = *c.engine();
  const spi::count_request request{name, kind, what, amount, spi::owner_id::random()};
  return ask<spi::count_reply>(e, operation, name,
                               [&](auto done) { e.store().count(request, spi::caller::may_block, std::move(done)); });
}

inline void require_not_negative(std::ptrdiff_t n, const char* operation, const std::string& name) {
  if (n < 0) throw error({errc::invalid_argument, std::to_string(n) + " is negative"}, operation, name);
}

inline spi::claim counter_claim(const std::string& name, spi::kind kind, std::ptrdiff_t n) {
  spi::claim claim;
  claim.name = name;
  claim.kind = kind;
  claim.permits = static_cast<std::uint32_t>(n);
  return claim;
}

}  // namespace holdfast::detail
