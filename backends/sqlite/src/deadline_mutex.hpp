#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace holdfast::sqlite {

/// A mutex one can wait for until a deadline. As std::timed_mutex, but ThreadSanitizer understands it: that of g++ 12
/// does not know the call with which the library waits on the steady clock, and sees races where there are none.
class deadline_mutex {
 public:
  void lock() {
    std::unique_lock inner(inner_);
    free_.wait(inner, [&] { return !std::exchange(held_, true); });
  }
  bool try_lock() {
    std::lock_guard inner(inner_);
    return !std::exchange(held_, true);
  }
  bool try_lock_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock inner(inner_);
    return free_.wait_until(inner, deadline, [&] { return !std::exchange(held_, true); });
  }
  void unlock() {
    {
      std::lock_guard inner(inner_);
      held_ = false;
    }
    free_.notify_one();
  }

 private:
  std::mutex inner_;
  std::condition_variable free_;
  bool held_ = false;
};

}  // namespace holdfast::sqlite
