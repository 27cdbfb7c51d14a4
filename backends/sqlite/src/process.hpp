#pragma once

#include <holdfast/result.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::sqlite {

/// A process of this machine, for as long as it is up: a pid alone comes back, with the start time it does not.
struct process {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< Field 22 of /proc/<pid>/stat. 0: cannot be told.
  std::uint64_t pid_namespace =
      0;  ///< Inode of /proc/self/ns/pid. Pids of other namespaces mean nothing here. 0: not known.

  static process self();

  friend bool operator==(const process&, const process&) = default;
};

/// When the process that has this pid now was started; nothing if there is none or it cannot be read.
std::optional<std::uint64_t> start_time(pid_t pid);

/// This boot of this machine, from the kernel. Fails where there is no /proc.
result<std::string> boot_id();

}  // namespace holdfast::sqlite
