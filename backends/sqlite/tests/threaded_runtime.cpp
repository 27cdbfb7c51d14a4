#include "threaded_runtime.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::sqlite_tests {

using namespace std::chrono_literals;

threaded_runtime::threaded_runtime(const movable_clock& clock, std::string client_name)
    : clock_(clock),
      who_{"machine", ::getpid(), std::move(client_name)},
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reactor_([this] { react(); }),
      worker_([this] { work(); }) {}

threaded_runtime::~threaded_runtime() {
  shut_down();
  ::close(wake_fd_);
}

void threaded_runtime::shut_down() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  wake();
  if (worker_.joinable()) worker_.join();
  if (reactor_.joinable()) reactor_.join();
}

void threaded_runtime::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

void threaded_runtime::log(log_level, std::string_view line) noexcept {
  std::lock_guard lock(mutex_);
  logged_.emplace_back(line);
}

void threaded_runtime::post(holdfast::detail::unique_function<void()> task) {
  std::lock_guard lock(mutex_);
  if (!closing_) tasks_.push_back(std::move(task));
  changed_.notify_all();
}

spi::runtime::timer threaded_runtime::at(spi::time_point when, holdfast::detail::unique_function<void()> task) {
  std::lock_guard lock(mutex_);
  timers_.emplace(std::pair(when, ++last_timer_), std::move(task));
  wake();
  return last_timer_;
}

void threaded_runtime::cancel(timer t) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == t; });
}

void threaded_runtime::on_readable(int fd, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  descriptors_[fd] = std::make_shared<std::function<void()>>(std::move(ready));
  wake();
}

void threaded_runtime::forget(int fd) noexcept {
  std::unique_lock lock(mutex_);
  descriptors_.erase(fd);
  if (std::this_thread::get_id() == reactor_.get_id()) return;
  changed_.wait(lock, [&] { return running_ != fd; });
}

void threaded_runtime::lost(const spi::owner_id& id, loss) noexcept {
  std::lock_guard lock(mutex_);
  lost_.push_back(id);
}

bool threaded_runtime::was_lost(const spi::owner_id& id) const {
  std::lock_guard lock(mutex_);
  return std::find(lost_.begin(), lost_.end(), id) != lost_.end();
}

std::vector<std::string> threaded_runtime::logged() const {
  std::lock_guard lock(mutex_);
  return logged_;
}

void threaded_runtime::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void threaded_runtime::react() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (!timers_.empty() && timers_.begin()->first.first <= now()) {
      auto task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      continue;
    }
    std::vector<pollfd> watched{{wake_fd_, POLLIN, 0}};
    for (const auto& [fd, ready] : descriptors_) watched.push_back({fd, POLLIN, 0});
    // Moving the clock does not wake this thread: it looks often enough.
    lock.unlock();
    ::poll(watched.data(), watched.size(), 5);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);
    lock.lock();
    for (const pollfd& p : watched) {
      const auto found = descriptors_.find(p.fd);
      if (p.revents == 0 || found == descriptors_.end()) continue;
      const auto ready = found->second;
      running_ = p.fd;
      lock.unlock();
      (*ready)();
      lock.lock();
      running_ = -1;
      changed_.notify_all();
    }
  }
}

}  // namespace holdfast::sqlite_tests
