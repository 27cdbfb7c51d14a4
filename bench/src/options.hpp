#pragma once

#include "workload.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// A program that locks with somebody else's library, to be measured beside ours.
struct peer {
  std::string name;
  std::string command;  ///< For sh.
};

/// What `holdfast bench` was asked for.
struct options {
  std::vector<std::string>
      stores;  ///< URLs. Empty: $HOLDFAST_STORE, else the embedded stores in a temporary directory.
  std::vector<workload> workloads;                             ///< Empty: all that make sense.
  std::vector<peer> peers;                                     ///< Measured on every store that has servers.
  unsigned threads = 16;                                       ///< Of many and handover.
  unsigned processes = 8;                                      ///< Of processes and fair.
  unsigned leases = 10'000;                                    ///< Of holds and pending.
  std::chrono::nanoseconds seconds = std::chrono::seconds(3);  ///< For each side of each row.
  std::string json;                                            ///< File to write; empty: none.
  std::string plot;                                            ///< File to write; empty: none.
  enum class progress_line { automatic, always } progress = progress_line::automatic;
  enum class goals { show, check } goals = goals::show;
};

/// What is wrong with the command line, for the user.
struct usage_error {
  std::string text;
};

/// The outcome of reading the command line: exactly one of them is set.
struct parsed_options {
  std::optional<options> wanted;
  std::optional<usage_error> wrong;
  bool help = false;
};

parsed_options parse_options(int argc, const char* const* argv);

extern const std::string_view help_text;

}  // namespace holdfast::bench
