#pragma once

#include <string>

namespace holdfast::cli {

/// What a path lies on.
struct file_system {
  enum class reach { local, network };

  std::string name;
  reach where = reach::local;
  bool read_only = false;
  unsigned long long free_bytes = 0;  ///< For this user.
};

file_system file_system_of(const std::string& path);

}  // namespace holdfast::cli
