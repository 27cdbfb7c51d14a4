#pragma once

#include "workload.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// The raw client beside which a row was measured.
struct floor_rate {
  std::string what;
  double per_second = 0;  ///< Pairs, or handovers where ours counts handovers and the floor's workers contend too.
};

/// How long those waited who got the lock from somebody else.
struct handover_waits {
  std::chrono::nanoseconds p50{};
  std::chrono::nanoseconds p99{};
  std::chrono::nanoseconds p999{};
  std::chrono::nanoseconds longest{};
};

/// How often, of pairs or whole runs of a command.
struct speed {
  double pairs_per_second = 0;
  std::optional<double> handovers_per_second;
  std::optional<handover_waits> waits;
  std::optional<double> share;  ///< Fewest to most pairs of a worker.
  std::uint64_t counted = 0;    ///< Increments of the guarded counter, none lost. 0: nothing was guarded.
};

/// What many leases or waits cost.
struct footprint {
  unsigned count = 0;                 ///< Leases held, or waits pending.
  double resident_mib = 0;            ///< Of the whole process.
  double baseline_mib = 0;            ///< Of the same process, connected, before the first of them.
  unsigned threads = 0;               ///< Of the whole process.
  double begin_per_second = 0;        ///< Leases acquired, or waits begun.
  double end_per_second = 0;          ///< Leases released, or waits granted and released in turn.
  std::optional<double> cpu_percent;  ///< Of one core, over `window`.
  std::chrono::nanoseconds window{};
  std::uint64_t renewed = 0;  ///< Renewals within `window`.
};

/// Two commands timed in turns.
struct command_times {
  std::chrono::nanoseconds ours{};   ///< Median.
  std::chrono::nanoseconds floor{};  ///< Median.
  double times_floor = 0;            ///< Median of the ratios of neighbours.
  unsigned runs = 0;                 ///< Of each.
};

/// One line of the table.
struct row {
  std::string store;  ///< The URL's scheme.
  std::string peer;   ///< Whose client was measured; empty: ours.
  std::string url;    ///< As it may be shown.
  workload what = workload::uncontended;
  unsigned processes = 1;
  unsigned threads = 1;  ///< In each process.

  std::optional<speed> rate;
  std::optional<footprint> cost;
  std::optional<command_times> commands;

  std::optional<floor_rate> floor;
  /// Ours to the floor, more is better: median over neighbouring slices. A peer's: to the floor of our row.
  std::optional<double> ratio;
};

}  // namespace holdfast::bench
