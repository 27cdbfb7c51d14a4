#pragma once

#include "contender.hpp"
#include "floor.hpp"
#include "wait_histogram.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::bench {

/// Who measures what, and how.
struct crew_plan {
  enum class manner {
    alone,      ///< Each worker has a lock of its own; pairs are all there is to count.
    contended,  ///< One lock around a plain counter; handovers and their waits are counted.
  };
  unsigned processes = 1;
  unsigned threads = 1;  ///< In each process.
  manner how = manner::alone;
  floor_design::crew floor_by = floor_design::crew::same;
  unsigned slices = 5;               ///< Of each side, taken in turns so that the machine's moods hit both.
  std::chrono::nanoseconds slice{};  ///< Length of one.
  std::chrono::nanoseconds grace = std::chrono::seconds(30);  ///< A run this much longer than planned is stuck.

  unsigned workers() const { return processes * threads; }
};

/// Opens one side in the process that will use it.
using open_subject = std::function<std::unique_ptr<subject>()>;

/// What one slice came to, per second.
struct slice_rate {
  double pairs = 0;
  double handovers = 0;
};

/// What one side (ours or the floor) came to.
struct side_result {
  std::vector<slice_rate> slices;
  wait_histogram waits;       ///< Of handovers alone, from asking to having.
  std::uint64_t pairs = 0;    ///< By the workers' own count, warm-up included.
  std::uint64_t counted = 0;  ///< By the counters under the locks. Less than pairs: updates were lost.
  double share = 1;           ///< Pairs of the worker with the fewest to that with the most.
};

struct crew_result {
  side_result ours;
  std::optional<side_result> floor;
};

/// Told now and then how far it is (0 to 1).
using progress_callback = std::function<void(double done)>;

/// Runs floor and ours in turns. `floor` may be empty. Throws measurement_error: a side failed, an update was lost, a
/// fencing token did not increase, the crew is stuck.
crew_result run_crew(const crew_plan& plan, const assignment& what, const open_subject& ours, const open_subject& floor,
                     const progress_callback& progress);

}  // namespace holdfast::bench
