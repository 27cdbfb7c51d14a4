#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memcached {

/// One who holds, or waits.
struct holder {
  std::string id;  ///< spi::owner_id, as hex.
  std::uint32_t permits = 1;
  std::uint64_t token = 0;  ///< 0: that of the write which brought it, and that was the last one.
  std::int64_t ttl = 0;     ///< Milliseconds.
  std::int64_t ends = 0;    ///< Of permits: the second of the server's clock in which it is over.
  std::int64_t since = 0;   ///< Microseconds of the holder's wall clock: for inspect only.
  std::int64_t until = 0;   ///< The same: when it is over unless renewed.
  std::int64_t pid = 0;
  std::string host;
  std::string client_name;
};

/// What the item of a lock says.
struct record {
  spi::kind kind = spi::kind::mutex;
  std::uint32_t limit = 1;
  std::int64_t lifetime = 0;  ///< Seconds it was given when it was written.
  std::string name;
  std::vector<holder> holders;

  std::string encoded() const;
  /// Nothing: it is none of ours.
  static std::optional<record> decoded(std::string_view text);

  holder* find(std::string_view id);
  std::uint64_t taken() const;  ///< Permits, of all holders.
};

}  // namespace holdfast::memcached
