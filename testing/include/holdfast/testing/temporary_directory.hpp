#pragma once

#include <filesystem>

namespace holdfast::testing {

/// A fresh directory below the system's temporary one, removed with everything in it at the end.
class temporary_directory {
 public:
  temporary_directory();
  explicit temporary_directory(const std::filesystem::path& parent);  ///< Below another one.
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  ~temporary_directory();

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace holdfast::testing
