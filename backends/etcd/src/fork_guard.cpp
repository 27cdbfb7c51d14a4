#include "fork_guard.hpp"

#include <grpc/fork.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

namespace holdfast::etcd {

namespace {

// Without it gRPC's handlers do nothing. Read by gRPC when it is first used.
[[maybe_unused]] const int switched_on = ::setenv("GRPC_ENABLE_FORK_SUPPORT", "1", 0);

struct loops {
  std::mutex mutex;
  std::vector<fork_guard::loop*> all;
};

loops& state() {
  static auto* const made = new loops;  // never destroyed: a fork may come at any time
  return *made;
}

std::atomic<int> callers{0};
std::atomic<bool> broken{false};
int stuck = 0;  // behind the mutex

void before_fork() {
  state().mutex.lock();
  for (auto* const one : state().all)
    if (!one->step_out()) ++stuck;
#ifndef GRPC_POSIX_FORK_ALLOW_PTHREAD_ATFORK  // else it has registered them itself
  grpc_prefork();
#endif
}

void after_fork_in_parent() {
#ifndef GRPC_POSIX_FORK_ALLOW_PTHREAD_ATFORK
  grpc_postfork_parent();
#endif
  stuck = 0;
  for (auto* const one : state().all) one->go_on();
  state().mutex.unlock();
}

void after_fork_in_child() {
#ifndef GRPC_POSIX_FORK_ALLOW_PTHREAD_ATFORK
  grpc_postfork_child();
#endif
  // Those threads are the parent's; here they do not exist, and neither does what they served.
  state().all.clear();
  if (callers.exchange(0) + stuck > 0) broken = true;
  state().mutex.unlock();
}

void before_exit() {
  // Never unlocked: whoever wants to begin or end anything now, waits for the end of the process.
  state().mutex.lock();
  for (auto* const one : state().all) one->step_out();
  for (int tries = 0; callers > 0 && tries < 200; ++tries) ::usleep(5000);
}

}  // namespace

void fork_guard::add(loop* one) {
  // After gRPC's own: then these come first before the fork, and last after it.
  static const int registered = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  // After gRPC's static objects were made: so it runs before they go.
  static const int at_exit = std::atexit(before_exit);
  static_cast<void>(registered);
  static_cast<void>(at_exit);
  const std::lock_guard lock(state().mutex);
  state().all.push_back(one);
}

void fork_guard::remove(loop* one) {
  const std::lock_guard lock(state().mutex);
  std::erase(state().all, one);
}

fork_guard::inside::inside() { ++callers; }
fork_guard::inside::~inside() { --callers; }

bool fork_guard::usable() { return !broken; }

}  // namespace holdfast::etcd
