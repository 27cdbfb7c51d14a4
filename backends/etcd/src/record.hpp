#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::etcd {

/// What the value of a key of ours says of whom it belongs to. Go's clients leave theirs empty, and read none.
struct record {
  std::string id;  ///< owner_id::hex().
  std::uint32_t permits = 1;
  std::uint32_t limit = 1;  ///< 0: no permits of a permit_semaphore, but of a counting_semaphore.
  std::chrono::milliseconds ttl{0};
  std::uint64_t token = 0;  ///< 0: the create revision.
  std::chrono::system_clock::time_point since;
  std::int64_t pid = 0;
  std::string host;
  std::string client_name;

  static record of(const spi::claim& claim, const spi::identity& who);
  std::string text() const;
  /// Nothing: not one of ours.
  static std::optional<record> parse(std::string_view text);
};

}  // namespace holdfast::etcd
