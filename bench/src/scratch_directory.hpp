#pragma once

#include <string>

namespace holdfast::bench {

/// A new directory of our own, removed with everything in it at the end.
class scratch_directory {
 public:
  /// Below `parent`. Throws measurement_error naming it.
  explicit scratch_directory(const std::string& parent);
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// $TMPDIR, else /tmp.
std::string temporary_parent();

}  // namespace holdfast::bench
