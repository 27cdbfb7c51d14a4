#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::etcd {

/// What the members said when they were asked.
struct health {
  struct answer {
    std::string address;
    std::string failure;  ///< Why it did not answer; empty: it did.
    std::string version;
    std::uint64_t id = 0;
    std::uint64_t leader = 0;  ///< 0: it knows none.
    std::int64_t size = 0;     ///< Of its database, bytes.
    std::int64_t quota = 0;    ///< 0: not told.
    bool learner = false;
    /// How far its wall clock is ahead of ours, to a second; nothing: not told.
    std::optional<std::chrono::seconds> ahead = std::nullopt;
  };
  std::vector<answer> asked;                      ///< Those that the URL names.
  std::size_t members = 0;                        ///< That vote; 0: not told.
  bool full = false;                              ///< Alarm NOSPACE.
  bool corrupt = false;                           ///< Alarm CORRUPT.
  std::optional<std::chrono::nanoseconds> write;  ///< How long one took.
  std::optional<std::chrono::seconds> least_ttl;  ///< What a lease of a second became.
};

std::vector<finding> judge(const health& what);

/// The wall clock of the member at `address` (host:port), as its answers over plain HTTP are dated. Nothing if it does
/// not answer. Blocks for two seconds at most, and for as long as it takes to find the host.
std::optional<std::chrono::sys_seconds> clock_of(const std::string& address);
/// The date of an answer over HTTP; nothing if it has none that can be read.
std::optional<std::chrono::sys_seconds> date_in(std::string_view http);

}  // namespace holdfast::etcd
