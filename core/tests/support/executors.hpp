#pragma once

#include <holdfast/detail/executor.hpp>

#include <deque>
#include <mutex>

namespace holdfast::testing {

/// Keeps tasks until the test runs them. Thread safety: safe.
class manual_executor final : public detail::executor {
 public:
  void post(detail::unique_function<void()> task) override {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }

  bool run_one() {
    std::unique_lock lock(mutex_);
    if (tasks_.empty()) return false;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    return true;
  }

  /// Runs everything, that which the tasks post included.
  void run() {
    while (run_one()) {
    }
  }

  std::size_t waiting() const {
    std::lock_guard lock(mutex_);
    return tasks_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<detail::unique_function<void()>> tasks_;
};

/// Runs each task where it is posted.
class inline_executor final : public detail::executor {
 public:
  void post(detail::unique_function<void()> task) override { task(); }
};

}  // namespace holdfast::testing
