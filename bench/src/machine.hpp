#pragma once

#include <string>

namespace holdfast::bench {

/// Where the numbers come from.
struct machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  double memory_gib = 0;
};
machine this_machine();
std::string describe(const machine& m);  ///< One line.
std::string utc_now();                   ///< "2026-01-31T12:00:00Z"

}  // namespace holdfast::bench
