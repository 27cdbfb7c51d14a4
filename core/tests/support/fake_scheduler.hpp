#pragma once

#include "scheduler.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace holdfast::testing {

/// A clock moved by hand. Timers run on the thread that moves it, in the order of their times, each seeing its own time
/// as now; a timer set by a timer runs in the same move if it is due by then. Thread safety: safe.
class fake_scheduler final : public detail::scheduler {
 public:
  using time_point = lease_clock::time_point;

  time_point now() const noexcept override {
    std::lock_guard lock(mutex_);
    return now_;
  }

  timer at(time_point when, detail::unique_function<void()> task) override {
    std::unique_lock lock(mutex_);
    const timer id = ++last_;
    pending_.emplace(key{when, id}, std::move(task));
    const auto hook = std::exchange(on_next_timer_, nullptr);
    lock.unlock();
    if (hook) hook();
    return id;
  }

  void cancel(timer t) noexcept override {
    detail::unique_function<void()> dropped;
    std::lock_guard lock(mutex_);
    for (auto it = pending_.begin(); it != pending_.end(); ++it) {
      if (it->first.second != t) continue;
      dropped = std::move(it->second);
      pending_.erase(it);
      return;
    }
  }

  void shut_down() override {
    std::map<key, detail::unique_function<void()>> dropped;
    std::lock_guard lock(mutex_);
    dropped.swap(pending_);
  }

  /// Moves the clock and runs what falls due on the way.
  void advance(std::chrono::nanoseconds by) {
    const auto target = now() + by;
    while (run_first_until(target)) {
    }
    std::lock_guard lock(mutex_);
    now_ = target;
  }

  /// Moves the clock without running anything: what a stopped process finds when it goes on.
  void jump(std::chrono::nanoseconds by) {
    std::lock_guard lock(mutex_);
    now_ += by;
  }

  /// Moves the clock to the first timer and runs it. False: there is none.
  bool run_next() {
    const auto first = next();
    return first && run_first_until(*first);
  }

  std::size_t pending() const {
    std::lock_guard lock(mutex_);
    return pending_.size();
  }
  std::size_t ever_set() const {
    std::lock_guard lock(mutex_);
    return last_;
  }
  std::optional<time_point> next() const {
    std::lock_guard lock(mutex_);
    if (pending_.empty()) return std::nullopt;
    return pending_.begin()->first.first;
  }

  /// Called once, inside the next at(): what another thread could do at that very moment.
  void on_next_timer(std::function<void()> hook) {
    std::lock_guard lock(mutex_);
    on_next_timer_ = std::move(hook);
  }

 private:
  using key = std::pair<time_point, timer>;

  bool run_first_until(time_point limit) {
    detail::unique_function<void()> task;
    {
      std::lock_guard lock(mutex_);
      if (pending_.empty() || pending_.begin()->first.first > limit) return false;
      now_ = std::max(now_, pending_.begin()->first.first);
      task = std::move(pending_.begin()->second);
      pending_.erase(pending_.begin());
    }
    task();
    return true;
  }

  mutable std::mutex mutex_;
  time_point now_{std::chrono::hours(1)};
  timer last_ = 0;
  std::map<key, detail::unique_function<void()>> pending_;
  std::function<void()> on_next_timer_;
};

}  // namespace holdfast::testing
