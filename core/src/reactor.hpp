#pragma once

#include "scheduler.hpp"

#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace holdfast::detail {

/// One thread that runs timers on the boot-time clock and watches descriptors. Started by its first use.
///
/// The timer is a timerfd on CLOCK_BOOTTIME: after a suspend it fires at once, where a condition variable would sleep
/// on for as long as the machine slept.
class reactor final : public scheduler {
 public:
  explicit reactor(std::function<void(const char*)> report);
  ~reactor() override;

  lease_clock::time_point now() const noexcept override { return lease_clock::now(); }
  timer at(lease_clock::time_point when, unique_function<void()> task) override;
  void cancel(timer t) noexcept override;

  void shut_down() override;

  void on_readable(int fd, std::function<void()> ready);
  void forget(int fd) noexcept;

 private:
  struct watched {
    std::function<void()> ready;
    bool running = false;
  };

  void start();  // with mutex_ held
  void run();
  void arm();  // with mutex_ held
  void run_due();
  void dispatch(int fd);
  void guarded_call(const std::function<void()>& call);

  const std::function<void(const char*)> report_;
  struct descriptor {
    int fd;
    ~descriptor() { ::close(fd); }
  };
  const descriptor epoll_;
  const descriptor timer_;
  const descriptor wake_;

  mutable std::mutex mutex_;
  std::map<std::pair<lease_clock::time_point, timer>, unique_function<void()>> timers_;
  std::unordered_map<timer, lease_clock::time_point> times_;
  std::unordered_map<int, std::shared_ptr<watched>> descriptors_;
  lease_clock::time_point armed_ = lease_clock::time_point::max();
  timer last_ = 0;
  bool closing_ = false;
  std::condition_variable idle_;
  std::thread thread_;
  std::thread::id running_on_;
};

}  // namespace holdfast::detail
