#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace holdfast::bench {

enum class workload {
  uncontended,  ///< One thread, one lock.
  many,         ///< N threads of one process, a lock each.
  handover,     ///< N threads of one process, one lock.
  processes,    ///< N processes, one lock.
  fair,         ///< As processes, first come first served.
  reentry,      ///< One thread that takes again what it holds.
  holds,        ///< Keep N leases alive.
  pending,      ///< N waits at once on one lock.
  run,          ///< The command around `true`.
};

inline constexpr std::array<std::string_view, 9> workload_names{"uncontended", "many",  "handover", "processes", "fair",
                                                                "reentry",     "holds", "pending",  "run"};

constexpr std::string_view to_string(workload w) { return workload_names[static_cast<std::size_t>(w)]; }

constexpr std::optional<workload> parse_workload(std::string_view name) {
  for (std::size_t i = 0; i < workload_names.size(); ++i)
    if (workload_names[i] == name) return static_cast<workload>(i);
  return std::nullopt;
}

}  // namespace holdfast::bench
