#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::sqlite {

/// Marks our files: "Hold" as bytes 68 to 71 of the SQLite header.
constexpr std::uint32_t application_id = 0x486f6c64;

/// The database's file, found, checked and, if it was missing, made (0600, empty).
///
/// Nothing is opened through a symbolic link, and a file that is not ours is refused before SQLite sees it: SQLite
/// would put a -shm and a -wal beside it and play back its log.
class database_file {
 public:
  /// errc::invalid_argument: the URL; errc::rejected: what is there is not for us; errc::unsupported: a file system
  /// shared between machines, on which SQLite's log cannot work.
  static result<database_file> prepare(uri where);

  const std::string& path() const noexcept { return path_; }  ///< Absolute, its directory without symbolic links.
  bool empty() const noexcept { return empty_; }              ///< It had no content yet when it was looked at.
  uid_t owner() const noexcept { return owner_; }
  gid_t group() const noexcept { return group_; }
  std::string identity() const;  ///< The same for every process of this machine, by whatever path it came.

 private:
  class registered;

  result<void> look(const std::string& path);

  std::string path_;
  bool empty_ = false;
  uid_t owner_ = 0;
  gid_t group_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::shared_ptr<registered> registered_;
};

}  // namespace holdfast::sqlite
