#include "directory.hpp"

#include "errno_failure.hpp"
#include "store_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace holdfast::file {
namespace {

failure refused(const std::string& path, const std::string& why) { return {errc::rejected, path + " " + why}; }

result<void> make(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      // Of a parent that is there but not ours to change, only the last step tells whether that matters.
      if (slash == std::string::npos) return failure{errc::rejected, from_errno(errno, "making " + part).detail};
    }
    if (slash == std::string::npos) return {};
  }
}

/// File systems whose calls go over a network or to another process. By number: most have no name in a header.
bool is_remote_type(long type) noexcept {
  constexpr std::array<std::uint32_t, 11> remote{
      0x6969,      // NFS
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x517B,      // SMB
      0x65735546,  // FUSE
      0x00C36400,  // Ceph
      0x01021997,  // 9p
      0x01161970,  // GFS2
      0x7461636F,  // OCFS2
      0x0BD00BD0,  // Lustre
      0x5346414F,  // AFS
  };
  return std::find(remote.begin(), remote.end(), static_cast<std::uint32_t>(type)) != remote.end();
}

}  // namespace

result<std::shared_ptr<directory>> directory::open(const std::string& path, std::chrono::nanoseconds timeout) {
  std::shared_ptr<directory> opened(new directory);
  opened->path_ = path;
  if (auto made = make(path); !made) return made.error();
  struct stat before{};
  if (::lstat(path.c_str(), &before) != 0) return from_errno(errno, "opening " + path);
  if (S_ISLNK(before.st_mode)) return refused(path, "is a symbolic link; name the directory itself");
  if (!S_ISDIR(before.st_mode)) return refused(path, "is not a directory");
  opened->fd_ = descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened->fd_) return from_errno(errno, "opening " + path);
  if (auto fit = opened->check(); !fit) return fit.error();
  if (auto joined = opened->join(timeout); !joined) return joined.error();
  return opened;
}

result<void> directory::check() const {
  struct stat now{};
  if (::fstat(fd_.get(), &now) != 0) return from_errno(errno, "looking at " + path_);
  if (now.st_uid != ::geteuid()) {
    return refused(path_, "belongs to user " + std::to_string(now.st_uid) + ", not to user " +
                              std::to_string(::geteuid()) + " who wants to lock there");
  }
  // Whoever may remove a lock file may make a second one beside a lock that is held.
  if ((now.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (now.st_mode & S_ISVTX) == 0) {
    return refused(path_, "may be changed by other users; take the right away (chmod go-w) or use another directory");
  }
  return {};
}

result<void> directory::join(std::chrono::nanoseconds timeout) {
  struct statfs system{};
  if (::fstatfs(fd_.get(), &system) == 0) remote_ = is_remote_type(system.f_type);
  auto file = open_file(store_file_name, use::locking);
  if (!file) return file.error();
  const auto store = read_or_update_store_file(file->get(), fd_.get(), this_boot(), timeout);
  if (!store) return failure{store.error().code, path_ + "/" + store_file_name + ": " + store.error().detail};
  id_ = store->id;
  token_floor_ = std::uint64_t{store->boots - 1} << 40;
  return {};
}

result<descriptor> directory::open_file(const std::string& file_name, use what) const {
  const std::string shown = path_ + "/" + file_name;
  // O_NONBLOCK: a FIFO in its place must not hang us.
  const int flags =
      O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (what == use::locking ? O_RDWR | O_CREAT : O_RDONLY);
  descriptor fd(::openat(fd_.get(), file_name.c_str(), flags, 0600));
  if (!fd) {
    if (errno == ELOOP) return refused(shown, "is a symbolic link");
    return from_errno(errno, "opening " + shown);
  }
  struct stat now{};
  if (::fstat(fd.get(), &now) != 0) return from_errno(errno, "looking at " + shown);
  if (!S_ISREG(now.st_mode)) return refused(shown, "is not a plain file");
  if (now.st_uid != ::geteuid()) return refused(shown, "belongs to user " + std::to_string(now.st_uid));
  return fd;
}

result<std::vector<std::string>> directory::file_names() const {
  // A description of its own: the position of a listing belongs to it.
  const int fd = ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return from_errno(errno, "listing " + path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd), ::closedir);
  if (!listing) {
    const int error = errno;
    ::close(fd);
    return from_errno(error, "listing " + path_);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* each = ::readdir(listing.get())) {
    if (each->d_name[0] != '.') names.emplace_back(each->d_name);
    errno = 0;
  }
  if (errno != 0) return from_errno(errno, "listing " + path_);
  return names;
}

result<void> directory::replace(const std::string& file_name, const std::string& with) const {
  if (::renameat(fd_.get(), with.c_str(), fd_.get(), file_name.c_str()) == 0) return {};
  return from_errno(errno, "replacing " + path_ + "/" + file_name);
}

}  // namespace holdfast::file
