#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::zookeeper {

/// What our nodes carry, for whoever looks at them; no decision about a lock hangs on it, but that on how many permits
/// there are. Printable: `holdfast pid=7 ttl=30000 permits=1 limit=1 host=web1 name=billing`.
struct badge {
  std::int64_t pid = 0;
  std::chrono::milliseconds ttl{0};
  std::uint32_t permits = 1;
  std::uint32_t limit = 0;  ///< Of how many permits; 0: not a permit, or somebody else's.
  std::string host;
  std::string client_name;

  static badge of(const spi::identity& who, const spi::claim& claim);
  std::string text() const;
  /// Of somebody else's node, all that it says is taken for the host: Curator puts an address there.
  static badge read(std::string_view text);
};

/// What somebody writes to a holder's node to ask for the lock.
inline constexpr std::string_view revocation = "__REVOKE__";

}  // namespace holdfast::zookeeper
