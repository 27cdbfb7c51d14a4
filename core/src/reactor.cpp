#include "reactor.hpp"

#include "library_thread.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace holdfast::detail {

namespace {

int checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

void add(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  checked(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

void drain(int fd) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd, &count, sizeof count);
}

}  // namespace

reactor::reactor(std::function<void(const char*)> report)
    : report_(std::move(report)),
      epoll_{checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")},
      timer_{checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create")},
      wake_{checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")} {
  add(epoll_.fd, timer_.fd);
  add(epoll_.fd, wake_.fd);
}

void reactor::shut_down() {
  std::thread last;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    last.swap(thread_);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto sent = ::write(wake_.fd, &one, sizeof one);
  if (last.joinable()) last.join();
  decltype(timers_) dropped;  // destroyed after the lock is gone: what they own may call back
  std::lock_guard lock(mutex_);
  dropped.swap(timers_);
  times_.clear();
}

reactor::~reactor() { shut_down(); }

scheduler::timer reactor::at(lease_clock::time_point when, unique_function<void()> task) {
  std::lock_guard lock(mutex_);
  start();
  const timer id = ++last_;
  timers_.emplace(std::pair(when, id), std::move(task));
  times_.emplace(id, when);
  // A timer that is due later than the armed one is found when that one fires: no system call on the common path.
  if (when < armed_) arm();
  return id;
}

void reactor::cancel(timer t) noexcept {
  unique_function<void()> dropped;  // destroyed outside the lock: it may own anything
  std::lock_guard lock(mutex_);
  const auto found = times_.find(t);
  if (found == times_.end()) return;
  const auto entry = timers_.find({found->second, t});
  dropped = std::move(entry->second);
  timers_.erase(entry);
  times_.erase(found);
}

void reactor::on_readable(int fd, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  start();
  auto entry = std::make_shared<watched>();
  entry->ready = std::move(ready);
  descriptors_.insert_or_assign(fd, std::move(entry));
  add(epoll_.fd, fd);
}

void reactor::forget(int fd) noexcept {
  std::unique_lock lock(mutex_);
  const auto found = descriptors_.find(fd);
  if (found == descriptors_.end()) return;
  const auto entry = found->second;
  descriptors_.erase(found);
  ::epoll_ctl(epoll_.fd, EPOLL_CTL_DEL, fd, nullptr);
  if (std::this_thread::get_id() == running_on_) return;
  idle_.wait(lock, [&] { return !entry->running; });
}

void reactor::start() {
  if (!thread_.joinable() && !closing_) thread_ = std::thread([this] { run(); });
}

void reactor::arm() {
  armed_ = timers_.empty() ? lease_clock::time_point::max() : timers_.begin()->first.first;
  itimerspec spec{};
  if (!timers_.empty()) {
    // A time that has passed is a moment from now; zero would disarm.
    const auto since_boot = std::max<std::int64_t>(armed_.time_since_epoch().count(), 1);
    spec.it_value.tv_sec = since_boot / 1'000'000'000;
    spec.it_value.tv_nsec = since_boot % 1'000'000'000;
  }
  ::timerfd_settime(timer_.fd, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void reactor::run() {
  enter_library_thread("hf-reactor");
  {
    std::lock_guard lock(mutex_);
    running_on_ = std::this_thread::get_id();
  }
  std::vector<epoll_event> events(64);
  for (;;) {
    const int count = ::epoll_wait(epoll_.fd, events.data(), static_cast<int>(events.size()), -1);
    {
      std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == wake_.fd)
        drain(wake_.fd);
      else if (fd == timer_.fd)
        run_due();
      else
        dispatch(fd);
    }
  }
}

void reactor::run_due() {
  drain(timer_.fd);
  std::unique_lock lock(mutex_);
  armed_ = lease_clock::time_point::max();
  while (!timers_.empty() && !closing_) {
    const auto first = timers_.begin();
    if (first->first.first > now()) break;
    auto task = std::move(first->second);
    times_.erase(first->first.second);
    timers_.erase(first);
    lock.unlock();
    guarded_call([&task] { task(); });
    task = nullptr;
    lock.lock();
  }
  arm();
}

void reactor::dispatch(int fd) {
  std::shared_ptr<watched> entry;
  {
    std::lock_guard lock(mutex_);
    const auto found = descriptors_.find(fd);
    if (found == descriptors_.end()) return;
    entry = found->second;
    entry->running = true;
  }
  guarded_call(entry->ready);
  std::lock_guard lock(mutex_);
  entry->running = false;
  idle_.notify_all();
}

void reactor::guarded_call(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& e) {
    report_(e.what());
  }
}

}  // namespace holdfast::detail
