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
};

/// Connects once, in a child, to learn what the store can do. Throws measurement_error: usage, unavailable.
site explore(const std::string& url);

/// Why this workload cannot be measured there; nullopt when it can.
std::optional<std::string> unsuitable(const site& where, workload what);

/// Measures one row. Throws measurement_error.
row measure(const site& where, workload what, const options& how, const progress_callback& progress);

}  // namespace holdfast::bench
