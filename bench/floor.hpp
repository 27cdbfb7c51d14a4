#pragma once

#include "contender.hpp"

#include <memory>
#include <optional>
#include <string>

namespace holdfast::bench {

/// How the floor of one workload is measured.
struct floor_design {
  enum class crew {
    same,        ///< By as many workers as ours, contending in the same way: handovers against handovers.
    one_worker,  ///< By one worker on one connection: our handovers against its pairs.
  };
  crew by = crew::same;
  std::string what;  ///< For the reader: "std::timed_mutex".
};

/// What the raw client of one store can do: the yardstick of our rows.
///
/// One file per store, floor_<store>.cpp, defines `holdfast_floor_<store>()`. Those that need a client library are
/// modules of their own, loaded by who measures that store, so that the command does not carry them all.
class store_floor {
 public:
  virtual ~store_floor() = default;

  /// nullopt: there is nothing to compare this workload with.
  virtual std::optional<floor_design> design(workload what) const = 0;
  /// Where a URL's options choose between ways of locking that have floors of their own.
  virtual std::optional<floor_design> design_for(const std::string& /*url*/, workload what) const {
    return design(what);
  }
  /// Connects, in the process that will use it. `url` is the store's; `directory` is empty, exists for this measurement
  /// alone, and is on the file system of the store where that is a file.
  virtual std::unique_ptr<subject> open(const std::string& url, const std::string& directory) const = 0;
};

using floor_symbol = const store_floor* (*)();

/// The floor of the store named by a URL's scheme; nullptr where none is known. `why` then says so.
const store_floor* find_floor(const std::string& scheme, std::string& why);

}  // namespace holdfast::bench

extern "C" {
const holdfast::bench::store_floor* holdfast_floor_memory();
const holdfast::bench::store_floor* holdfast_floor_file();
}
