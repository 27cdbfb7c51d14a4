#pragma once

#include <string>

namespace holdfast::bench {

/// Where the numbers come from.
struct machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  double memory_gib = 0;
  double load = 0;  ///< Average over the last minute: what else the machine is doing.
};
machine this_machine();
std::string describe(const machine& m);  ///< One line.
/// A line for whoever trusts the numbers too much; empty when the machine is idle enough.
std::string warning(const machine& m);
std::string utc_now();  ///< "2026-01-31T12:00:00Z"

}  // namespace holdfast::bench
