#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace holdfast::testing {

/// A plain number, not atomic, in memory that processes share: what a lock is there to protect. An increment that is
/// not alone is lost.
class shared_counter {
 public:
  /// Creates the file, with zero, if it is not there.
  explicit shared_counter(const std::filesystem::path& file);
  shared_counter(const shared_counter&) = delete;
  shared_counter& operator=(const shared_counter&) = delete;
  ~shared_counter();

  /// Reads, lets others run, writes.
  void increment();
  std::int64_t value() const { return *number_; }

 private:
  volatile std::int64_t* number_;
};

}  // namespace holdfast::testing
