#include "descriptor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <unordered_set>

namespace holdfast::file {
namespace {

struct open_descriptors {
  std::mutex mutex;
  std::unordered_set<int> fds;
  std::atomic<std::uint64_t> generation{1};  // grows in every forked child
};

// Never destroyed: descriptors in static objects go after it.
open_descriptors& all() {
  static auto& instance = *new open_descriptors;
  return instance;
}

// Held over the fork, so that the child finds the set whole.
void before_fork() { all().mutex.lock(); }
void in_parent() { all().mutex.unlock(); }

void in_child() {
  for (const int fd : all().fds) ::close(fd);
  all().fds.clear();
  ++all().generation;
  all().mutex.unlock();
}

[[maybe_unused]] const int registered = ::pthread_atfork(before_fork, in_parent, in_child);

}  // namespace

descriptor::descriptor(int fd) : fd_(fd), generation_(all().generation) {
  if (fd_ < 0) return;
  std::lock_guard lock(all().mutex);
  all().fds.insert(fd_);
}

descriptor::~descriptor() {
  if (fd_ < 0) return;
  std::lock_guard lock(all().mutex);
  // In a child it is closed already, and the number may be somebody else's by now.
  if (generation_ != all().generation) return;
  all().fds.erase(fd_);
  ::close(fd_);
}

int descriptor::get() const noexcept { return generation_ == all().generation ? fd_ : -1; }

}  // namespace holdfast::file
