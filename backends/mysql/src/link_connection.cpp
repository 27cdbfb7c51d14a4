#include "link.hpp"
#include "pause.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

// How a link comes by its connection, and what becomes of it and of those who wait for it when it breaks.

namespace holdfast::mysql {

namespace {

using namespace std::chrono_literals;

// A connection unused for this long is looked at before it is used: the server may have gone meanwhile.
constexpr auto idle_time = 1ms;

}  // namespace

result<void> link::take_over(connection made) {
  const guard lock(mutex_);
  if (!unsent_.empty()) return {};  // they go first, on the connection that is being made for them
  auto taken = take(std::move(made));
  last_use_ = {};  // who knows for how long it was not
  return taken;
}

result<void> link::take(connection made) {
  if (wire_) return {};  // there is one: somebody was faster
  if (!gate_) gate_ = sql::descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!gate_) return broken(where_, "no descriptor to wait with");
  wire_ = std::make_shared<wire>();
  wire_->over = std::move(made);
  last_use_ = engine_.now();
  return {};
}

bool link::stale() {
  if (!sent_.empty() || driver_ == driver::caller || engine_.now() - last_use_ < idle_time) return false;
  return wire_->over.stale();
}

/// A timer for those whom no blocked reader watches over.
void link::guard_deadline() {
  if (deadline_guarded_) return;
  auto first = spi::time_point::max();
  if (driver_ == driver::reactor && !sent_.empty()) first = sent_.front().deadline;
  if (!unsent_.empty()) first = std::min(first, unsent_.front().deadline);
  if (first == spi::time_point::max()) return;
  deadline_guarded_ = true;
  engine_.at(first, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_deadline();
  });
}

void link::on_deadline() {
  guard lock(mutex_);
  deadline_guarded_ = false;
  if (wire_ && driver_ == driver::reactor && !sent_.empty() && sent_.front().deadline <= engine_.now())
    hang_up(broken(where_, "the server did not answer in time"), lock);
  give_up_waiting(lock, nullptr);
  guard_deadline();
}

void link::hang_up(const failure& why, guard& lock) {
  disarm();
  // Wakes a reader that blocks. The connection itself goes with its last user.
  if (wire_->over.fd() >= 0) ::shutdown(wire_->over.fd(), SHUT_RDWR);
  const auto gone = std::exchange(wire_, nullptr);
  if (driver_ == driver::reactor) driver_ = driver::none;
  last_failure_ = why;
  std::vector<told_answer> all;
  for (auto& r : sent_) {
    if (r.who != nullptr) r.who->unread = false;
    all.push_back({std::move(r), why});
  }
  sent_.clear();
  lock.unlock();
  engine_.log(log_level::warning, why.detail);
  lock.lock();
  tell(std::move(all), lock);
  // Last: out of memory or threads it throws.
  if (!wire_ && !unsent_.empty()) reconnect();
}

void link::reconnect() {
  if (dialling_) return;
  sql::dial_later(engine_, failures_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->dial_again();
  });
  dialling_ = true;
}

void link::dial_again() {
  auto made = dial(where_, engine_, engine_.options().connect_timeout);
  guard lock(mutex_);
  dialling_ = false;
  result<void> good = made ? take(std::move(*made)) : result<void>(made.error());
  if (!good) {
    last_failure_ = good.error();
    if (failures_++ == 0) {
      lock.unlock();
      engine_.log(log_level::warning, good.error().detail);
      lock.lock();
    }
    const bool may_wait = good.error().code == errc::unavailable;
    give_up_waiting(lock, may_wait ? nullptr : &last_failure_);
    if (!unsent_.empty()) reconnect();
    return;
  }
  failures_ = 0;
  last_failure_.detail.clear();
  if (wire_ && !unsent_.empty()) take_in(wire_, 0, lock);
  // Those who block take over the reading; without one the reactor does.
  hand_over();
}

void link::give_up_waiting(guard& lock, const failure* because) {
  failure why = because != nullptr ? *because : last_failure_;
  if (why.detail.empty()) why = broken(where_, "the server did not answer in time");
  const auto now = engine_.now();
  std::vector<told_answer> all;
  while (!unsent_.empty() && (because != nullptr || unsent_.front().deadline <= now)) {
    request r = std::move(unsent_.front());
    unsent_.pop_front();
    if (r.who != nullptr) r.who->unread = false;
    all.push_back({std::move(r), why});
  }
  tell(std::move(all), lock);
}

}  // namespace holdfast::mysql
