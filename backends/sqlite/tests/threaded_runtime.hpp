#pragma once

#include <holdfast/backend.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::sqlite_tests {

/// The boot-time clock, which a test may move on: for all clients of a test at once.
struct movable_clock {
  std::atomic<std::int64_t> ahead{0};

  spi::time_point now() const noexcept { return lease_clock::now() + std::chrono::nanoseconds(ahead.load()); }
  void advance(std::chrono::nanoseconds by) { ahead += by.count(); }
};

/// What the engine is to a backend, as plainly as it can be: one thread for timers and descriptors, one for store
/// calls.
class threaded_runtime final : public spi::runtime {
 public:
  threaded_runtime(const movable_clock& clock, std::string client_name);
  ~threaded_runtime() override;

  spi::time_point now() const noexcept override { return clock_.now(); }
  const spi::identity& who() const noexcept override { return who_; }
  const client_options& options() const noexcept override { return options_; }
  void log(log_level level, std::string_view line) noexcept override;
  void post(holdfast::detail::unique_function<void()> task) override;
  timer at(spi::time_point when, holdfast::detail::unique_function<void()> task) override;
  void cancel(timer t) noexcept override;
  void on_readable(int fd, std::function<void()> ready) override;
  void forget(int fd) noexcept override;
  void lost(const spi::owner_id& id, loss cause) noexcept override;

  /// Ends the threads; nothing runs any more. As the engine does before it destroys the backend.
  void shut_down();

  bool was_lost(const spi::owner_id& id) const;
  std::vector<std::string> logged() const;
  client_options& change_options() noexcept { return options_; }

 private:
  void react();
  void work();
  void wake() const;

  const movable_clock& clock_;
  const spi::identity who_;
  client_options options_;
  int wake_fd_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::deque<holdfast::detail::unique_function<void()>> tasks_;
  std::map<std::pair<spi::time_point, timer>, holdfast::detail::unique_function<void()>> timers_;
  std::map<int, std::shared_ptr<std::function<void()>>> descriptors_;
  int running_ = -1;
  timer last_timer_ = 0;
  std::vector<spi::owner_id> lost_;
  std::vector<std::string> logged_;

  std::thread reactor_;
  std::thread worker_;
};

}  // namespace holdfast::sqlite_tests
