#pragma once

#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What `holdfast run` was asked to do.
struct run_request {
  enum class hold { exclusive, shared, permits };

  std::optional<std::string> store;
  std::string name;
  hold as = hold::exclusive;
  std::uint32_t permits = 1;
  std::uint32_t limit = 1;
  ordering order = ordering::any;
  optional_duration wait;  ///< Unset: for ever. Zero: not at all.
  std::chrono::nanoseconds ttl = std::chrono::seconds(30);
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
  std::vector<char*> command;  ///< Ends with a null pointer.
};

}  // namespace holdfast::cli
