#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace demo {

/// One grant of the lock, written by its holder while it held it.
struct grant {
  std::uint64_t token = 0;
  std::int64_t pid = 0;
  std::chrono::nanoseconds when{0};  ///< On the boot-time clock, which all processes share.
};

/// A file of grants in the order in which they were written.
class journal {
 public:
  explicit journal(std::filesystem::path file) : file_(std::move(file)) {}

  void append(const grant& entry) const;
  std::vector<grant> read() const;

 private:
  std::filesystem::path file_;
};

}  // namespace demo
