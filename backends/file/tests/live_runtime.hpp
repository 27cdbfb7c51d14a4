#pragma once

#include <holdfast/backend.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::file_tests {

/// A runtime with real time: one thread for timers and descriptors, one for posted work.
class live_runtime final : public spi::runtime {
 public:
  live_runtime();
  ~live_runtime() override;

  spi::time_point now() const noexcept override { return lease_clock::now(); }
  const spi::identity& who() const noexcept override { return who_; }
  const client_options& options() const noexcept override { return options_; }
  void log(log_level, std::string_view) noexcept override {}
  void post(detail::unique_function<void()> task) override;
  timer at(spi::time_point when, detail::unique_function<void()> task) override;
  void cancel(timer t) noexcept override;
  void on_readable(int fd, std::function<void()> ready) override;
  void forget(int fd) noexcept override;
  void lost(const spi::owner_id& id, loss cause) noexcept override;

  std::vector<std::pair<spi::owner_id, loss>> lost_so_far() const;

 private:
  void react();
  void work();
  void run_due(std::unique_lock<std::mutex>& lock);
  void wake() noexcept;

  const spi::identity who_;
  const client_options options_;
  const int epoll_;
  const int wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  timer last_timer_ = 0;
  int running_ = -1;  // the descriptor whose callback runs
  std::map<std::pair<spi::time_point, timer>, detail::unique_function<void()>> timers_;
  std::map<int, std::function<void()>> ready_;
  std::vector<detail::unique_function<void()>> tasks_;
  std::vector<std::pair<spi::owner_id, loss>> lost_;
  std::jthread reactor_;
  std::jthread worker_;
};

}  // namespace holdfast::file_tests
