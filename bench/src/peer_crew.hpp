#pragma once

#include "crew.hpp"
#include "options.hpp"
#include "row.hpp"

#include <chrono>
#include <string>

namespace holdfast::bench {

/// What a peer is asked to measure.
struct peer_plan {
  std::string store;    ///< The URL's scheme.
  std::string servers;  ///< "HOST:PORT,HOST:PORT".
  assignment what;
  unsigned processes = 1;
  unsigned threads = 1;  ///< In each process.
  crew_plan::manner how = crew_plan::manner::alone;
  std::chrono::nanoseconds warm_up{};
  std::chrono::nanoseconds length{};
  std::chrono::nanoseconds patience = std::chrono::seconds(120);  ///< To get ready; beyond its time; to end.

  unsigned workers() const { return processes * threads; }
};

/// What came of it: one of the two.
struct peer_result {
  std::optional<speed> rate;
  std::string unsupported;  ///< Why this peer cannot do that at all.
};

/// Starts as many processes of the peer as the plan has, and measures them all at once. docs/bench.md tells what they
/// are given and what they answer. Throws measurement_error: one fails or talks nonsense, an update was lost.
peer_result run_peer(const peer& who, const peer_plan& plan, const progress_callback& progress);

}  // namespace holdfast::bench
