#pragma once

#include "crew.hpp"
#include "floor.hpp"
#include "options.hpp"
#include "row.hpp"

#include <optional>
#include <string>

namespace holdfast::bench {

/// A store to be measured.
struct site {
  std::string url;
  std::string shown;  ///< The URL without its password.
  std::string scheme;
  std::string directory;  ///< Where the floor may make its files: beside the store's where that is a file.
  enum class queue { none, fifo } order = queue::none;
  const store_floor* floor = nullptr;
  std::string servers;  ///< "HOST:PORT,HOST:PORT" for peers. Empty: they cannot be told how to get there.
};

/// Connects once, in a child, to learn what the store can do. Throws measurement_error: usage, unavailable.
site explore(const std::string& url);

/// Why this workload cannot be measured there; nullopt when it can.
std::optional<std::string> unsuitable(const site& where, workload what);

/// The same of a peer.
std::optional<std::string> unsuitable_for_peers(const site& where, workload what);

/// Measures one row. Throws measurement_error.
row measure(const site& where, workload what, const options& how, const progress_callback& progress);

/// Measures one row of a peer. `ours` is the row beside which it stands, nullptr where that came to nothing. nullopt
/// when the peer cannot do that at all; `why` then says so. Throws measurement_error.
std::optional<row> measure_peer(const site& where, workload what, const options& how, const peer& who, const row* ours,
                                std::string& why, const progress_callback& progress);

/// About how long a row will take.
std::chrono::nanoseconds expected_length(workload what, const options& how);
std::chrono::nanoseconds expected_peer_length(const options& how);

}  // namespace holdfast::bench
