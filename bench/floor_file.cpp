#include "floor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace holdfast::bench {

namespace {

/// One open file description, as every correct user of OFD locks has per contender: they exclude each other by it.
class ofd_contender final : public contender {
 public:
  explicit ofd_contender(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "open '" + path + "'");
  }
  ofd_contender(const ofd_contender&) = delete;
  ofd_contender& operator=(const ofd_contender&) = delete;
  ~ofd_contender() override { ::close(fd_); }

  std::uint64_t acquire() override {
    set(F_WRLCK);
    return 0;
  }
  void release() override { set(F_UNLCK); }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      set(F_WRLCK);
      set(F_UNLCK);
    }
  }

 private:
  void set(short type) {
    struct flock range{};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    while (::fcntl(fd_, F_OFD_SETLKW, &range) != 0)
      if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "fcntl(F_OFD_SETLKW)");
  }

  int fd_;
};

class file_subject final : public subject {
 public:
  explicit file_subject(std::string directory) : directory_(std::move(directory)) {}

  std::unique_ptr<contender> enlist(const assignment& what) override {
    std::string file = what.lock;
    std::replace(file.begin(), file.end(), '/', '_');
    return std::make_unique<ofd_contender>(directory_ + '/' + file);
  }

 private:
  std::string directory_;
};

/// fcntl(F_OFD_SETLKW): one system call to lock, one to unlock, and the kernel's own queue.
class file_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
      case workload::many:
        return floor_design{floor_design::crew::same, "OFD lock, unlock"};
      case workload::handover:
        return floor_design{floor_design::crew::one_worker, "OFD lock, unlock"};
      case workload::processes:
        return floor_design{floor_design::crew::same, "processes blocking on F_OFD_SETLKW"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string&, const std::string& directory) const override {
    return std::make_unique<file_subject>(directory);
  }
};

}  // namespace

}  // namespace holdfast::bench

const holdfast::bench::store_floor* holdfast_floor_file() {
  static const holdfast::bench::file_floor floor;
  return &floor;
}
