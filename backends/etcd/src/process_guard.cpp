#include "process_guard.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::etcd {

namespace {

using namespace std::chrono_literals;

struct loops {
  std::mutex mutex;
  std::vector<process_guard::loop*> all;
  std::vector<std::shared_ptr<void>> kept;
  std::mutex callers_mutex;
  std::condition_variable nobody_inside;
  int callers = 0;
};

loops& state() {
  static auto* const made = new loops;  // never destroyed: it is needed while everything else goes
  return *made;
}

std::atomic<bool> child{false};
std::atomic<bool> at_its_end{false};

void before_exit() {
  if (child) return;  // those mutexes are the parent's
  {
    const std::lock_guard lock(state().mutex);
    at_its_end = true;
    for (auto* const one : state().all) one->step_out();
  }
  std::unique_lock lock(state().callers_mutex);
  state().nobody_inside.wait_for(lock, 1s, [] { return state().callers == 0; });
}

}  // namespace

void process_guard::add(loop* one) {
  // Registered after gRPC's static objects were made, it runs before they go.
  static const int registered = std::atexit(before_exit) + ::pthread_atfork(nullptr, nullptr, [] { child = true; });
  static_cast<void>(registered);
  const std::lock_guard lock(state().mutex);
  state().all.push_back(one);
  if (at_its_end) one->step_out();
}

void process_guard::remove(loop* one) {
  const std::lock_guard lock(state().mutex);
  std::erase(state().all, one);
}

process_guard::inside::inside() {
  const std::lock_guard lock(state().callers_mutex);
  ++state().callers;
}

process_guard::inside::~inside() {
  const std::lock_guard lock(state().callers_mutex);
  if (--state().callers == 0) state().nobody_inside.notify_all();
}

bool process_guard::usable() { return !child; }

bool process_guard::ending() { return at_its_end; }

void process_guard::keep(std::shared_ptr<void> what) {
  const std::lock_guard lock(state().mutex);
  state().kept.push_back(std::move(what));
}

}  // namespace holdfast::etcd
