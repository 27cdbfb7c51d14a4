#pragma once

#include <cstdint>
#include <utility>

namespace holdfast::file {

/// A file descriptor that is closed with this object, and in every child forked meanwhile before its fork() returns.
///
/// A lock of ours belongs to the open file description, which a forked child shares: it would keep the lock when its
/// parent dies, although it does not know of it. (O_CLOEXEC covers children that run another program.) In the child the
/// descriptor reads as -1.
///
/// Thread safety: as an int.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd);  ///< Takes it over; -1 stands for none.
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), generation_(other.generation_) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(generation_, other.generation_);
    return *this;
  }
  ~descriptor();

  int get() const noexcept;
  explicit operator bool() const noexcept { return get() >= 0; }

 private:
  int fd_ = -1;
  std::uint64_t generation_ = 0;
};

}  // namespace holdfast::file
