#pragma once

#include <holdfast/backend.hpp>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::testing {

/// What the engine does for a backend, for tests of its inside: a thread for timers, and one for posted work.
class live_runtime final : public spi::runtime {
 public:
  explicit live_runtime(client_options options) : options_(std::move(options)) {
    reactor_ = std::thread([this] { react(); });
    worker_ = std::thread([this] { work(); });
  }
  ~live_runtime() override { stop(); }

  /// Ends both threads. As in the engine, the backend goes after them.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    if (reactor_.joinable()) reactor_.join();
    if (worker_.joinable()) worker_.join();
  }

  spi::time_point now() const noexcept override { return lease_clock::now(); }
  const spi::identity& who() const noexcept override { return who_; }
  const client_options& options() const noexcept override { return options_; }
  void log(log_level /*level*/, std::string_view /*line*/) noexcept override {}

  void post(detail::unique_function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  timer at(spi::time_point when, detail::unique_function<void()> task) override {
    const std::lock_guard lock(mutex_);
    timers_.emplace(std::pair(when, ++last_timer_), std::move(task));
    changed_.notify_all();
    return last_timer_;
  }
  void cancel(timer t) noexcept override {
    const std::lock_guard lock(mutex_);
    std::erase_if(timers_, [&](const auto& each) { return each.first.second == t; });
  }
  // The backend has no descriptors of its own.
  void on_readable(int /*fd*/, std::function<void()> /*ready*/) override {}
  void forget(int /*fd*/) noexcept override {}
  void lost(const spi::owner_id& /*id*/, loss /*cause*/) noexcept override {}

 private:
  void react() {
    std::unique_lock lock(mutex_);
    while (!closing_) {
      if (timers_.empty()) {
        changed_.wait(lock);
      } else if (const auto left = timers_.begin()->first.first - now(); left.count() > 0) {
        changed_.wait_for(lock, left);
      } else {
        auto task = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        run(lock, task);
      }
    }
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (!closing_) {
      changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
      if (tasks_.empty()) continue;
      auto task = std::move(tasks_.front());
      tasks_.erase(tasks_.begin());
      run(lock, task);
    }
  }
  static void run(std::unique_lock<std::mutex>& lock, detail::unique_function<void()>& task) {
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }

  const spi::identity who_{"machine", 1, "tester"};
  const client_options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  timer last_timer_ = 0;
  std::map<std::pair<spi::time_point, timer>, detail::unique_function<void()>> timers_;
  std::vector<detail::unique_function<void()>> tasks_;
  std::thread reactor_;
  std::thread worker_;
};

/// Asks, and waits for the answer.
template <class T, class Question>
result<T> answer_to(const Question& ask) {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<result<T>> got;
  ask([&](result<T> said) {
    const std::lock_guard lock(mutex);
    got = std::move(said);
    came.notify_all();
  });
  std::unique_lock lock(mutex);
  came.wait(lock, [&] { return got.has_value(); });
  return std::move(*got);
}

}  // namespace holdfast::testing
