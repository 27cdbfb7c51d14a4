#pragma once

#include "row.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// A number of a row that a goal may be about.
enum class metric { ratio, share, p99_ms, p99_to_p50, longest_ms, times_floor, resident_mib, cpu_percent, threads };

std::string_view to_string(metric what);
std::optional<double> value_of(const row& r, metric what);

/// One thing a row should reach.
struct goal {
  std::string_view store;  ///< Scheme; empty: every store.
  workload what;
  metric of;
  enum class bound { at_least, at_most } is;
  double limit;
};

/// All of them, in one place.
const std::vector<goal>& goals();

/// A goal held against its row.
struct verdict {
  goal wanted;
  double value = 0;
  bool met = false;
};
std::vector<verdict> judge(const row& r);
/// Why ours is not first beside a peer's row; nullopt when it is. "redis handover: redsync 41 handovers/s, ours 40"
std::optional<std::string> overtaken(const row& ours, const row& peer);
/// "sqlite handover: ratio 4.31, goal at least 5"
std::string describe(const row& r, const verdict& v);

}  // namespace holdfast::bench
