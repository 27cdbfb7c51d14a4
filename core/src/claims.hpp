#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/detail/held_leases.hpp>

namespace holdfast::detail {

inline spi::claim mutex_claim(const std::string& name, const lock_options& options) {
  spi::claim claim;
  claim.name = name;
  claim.order = options.order;
  return claim;
}

/// unlock() of a std face: ends the caller's hold; without one, only a warning.
void unlock(held_leases& held, const client& c, const std::string& name) noexcept;

}  // namespace holdfast::detail
