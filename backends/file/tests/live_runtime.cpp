#include "live_runtime.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::file_tests {

live_runtime::live_runtime()
    : who_{"machine", ::getpid(), "tester"},
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  reactor_ = std::jthread([this] { react(); });
  worker_ = std::jthread([this] { work(); });
}

live_runtime::~live_runtime() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  wake();
  reactor_.join();
  worker_.join();
  ::close(epoll_);
  ::close(wake_);
}

void live_runtime::post(detail::unique_function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

spi::runtime::timer live_runtime::at(spi::time_point when, detail::unique_function<void()> task) {
  timer t = 0;
  {
    std::lock_guard lock(mutex_);
    t = ++last_timer_;
    timers_.emplace(std::pair(when, t), std::move(task));
  }
  wake();
  return t;
}

void live_runtime::cancel(timer t) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(timers_, [&](const auto& each) { return each.first.second == t; });
}

void live_runtime::on_readable(int fd, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  ready_[fd] = std::move(ready);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void live_runtime::forget(int fd) noexcept {
  std::unique_lock lock(mutex_);
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  ready_.erase(fd);
  if (std::this_thread::get_id() == reactor_.get_id()) return;
  changed_.wait(lock, [&] { return running_ != fd; });
}

void live_runtime::lost(const spi::owner_id& id, loss cause) noexcept {
  std::lock_guard lock(mutex_);
  lost_.emplace_back(id, cause);
}

std::vector<std::pair<spi::owner_id, loss>> live_runtime::lost_so_far() const {
  std::lock_guard lock(mutex_);
  return lost_;
}

void live_runtime::react() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    run_due(lock);
    int timeout = -1;
    if (!timers_.empty()) {
      const auto left = timers_.begin()->first.first - now();
      timeout = static_cast<int>(std::max<std::int64_t>(0, left / std::chrono::milliseconds(1) + 1));
    }
    lock.unlock();
    epoll_event event{};
    const int got = ::epoll_wait(epoll_, &event, 1, timeout);
    lock.lock();
    if (got != 1) continue;
    if (event.data.fd == wake_) {
      std::uint64_t count = 0;
      static_cast<void>(!::read(wake_, &count, sizeof count));
      continue;
    }
    const auto found = ready_.find(event.data.fd);
    if (found == ready_.end()) continue;
    const auto call = found->second;
    running_ = event.data.fd;
    lock.unlock();
    call();
    lock.lock();
    running_ = -1;
    changed_.notify_all();
  }
}

void live_runtime::run_due(std::unique_lock<std::mutex>& lock) {
  while (!timers_.empty() && timers_.begin()->first.first <= now()) {
    auto task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void live_runtime::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.erase(tasks_.begin());
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void live_runtime::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_, &one, sizeof one));
}

}  // namespace holdfast::file_tests
