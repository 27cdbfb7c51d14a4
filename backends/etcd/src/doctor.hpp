#pragma once

#include <holdfast/inspect.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
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
  };
  std::vector<answer> asked;                      ///< Those that the URL names.
  std::size_t members = 0;                        ///< That vote; 0: not told.
  bool full = false;                              ///< Alarm NOSPACE.
  bool corrupt = false;                           ///< Alarm CORRUPT.
  std::optional<std::chrono::nanoseconds> write;  ///< How long one took.
  std::optional<std::chrono::seconds> least_ttl;  ///< What a lease of a second became.
};

std::vector<finding> judge(const health& what);

}  // namespace holdfast::etcd
