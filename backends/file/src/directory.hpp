#pragma once

#include "descriptor.hpp"

#include <holdfast/result.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::file {

/// The directory that is the store: private to its user, one file per name ever locked.
///
/// Thread safety: safe.
class directory {
 public:
  /// Makes it (0700, parents too) if it is not there. Refuses a symbolic link in its place, another owner, one that
  /// anybody may change, and a file system without open file description locks.
  static result<std::shared_ptr<directory>> open(const std::string& path, std::chrono::nanoseconds timeout);

  const std::string& path() const noexcept { return path_; }
  /// 32 hexadecimal digits, the same for everybody who reaches this directory by whatever path.
  const std::string& id() const noexcept { return id_; }
  /// Below every token that may be given out. What is in the page cache when a machine goes down is lost, tokens
  /// included: each boot of each machine starts a block of 2^40 above the last.
  std::uint64_t token_floor() const noexcept { return token_floor_; }
  /// May a system call on a file take long, and go changes by others unnoticed by inotify?
  bool is_remote() const noexcept { return remote_; }

  enum class use { locking, looking };
  /// The lock file, made (0600) for locking. Refuses symbolic links, other owners, what is not a plain file.
  result<descriptor> open_file(const std::string& file_name, use what) const;
  result<std::vector<std::string>> file_names() const;
  /// Puts one file in the place of another, in one step.
  result<void> replace(const std::string& file_name, const std::string& with) const;

 private:
  directory() = default;
  result<void> check() const;
  result<void> join(std::chrono::nanoseconds timeout);

  std::string path_;
  std::string id_;
  std::uint64_t token_floor_ = 0;
  bool remote_ = false;
  descriptor fd_;
};

}  // namespace holdfast::file
