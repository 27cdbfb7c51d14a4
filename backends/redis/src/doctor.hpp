#pragma once

#include "settings.hpp"

#include <holdfast/inspect.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// What a server said of itself. What it was not willing to say is missing.
struct symptoms {
  using table = std::map<std::string, std::string, std::less<>>;

  std::optional<table> info;                      ///< INFO.
  table config;                                   ///< CONFIG GET.
  std::optional<table> cluster;                   ///< CLUSTER INFO, of a server that is part of one.
  std::optional<std::chrono::nanoseconds> ahead;  ///< Its clock, seen from ours.
  std::vector<std::string> forbidden;             ///< What the user needs and may not do.
  bool tried = false;                             ///< Whether that could be found out.
  std::optional<std::string> untried;             ///< The server's words, if it was not even willing to try.
  bool patterns_forbidden = false;                ///< It may not subscribe to patterns.
};

/// `name:value` lines, as INFO and CLUSTER INFO have them.
symptoms::table lines_of(std::string_view text);

/// What that means for locks: each with its consequence and what to do about it.
std::vector<finding> judge(const symptoms& seen, const settings& where);

}  // namespace holdfast::redis
