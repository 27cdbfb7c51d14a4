#include "link.hpp"
#include "pause.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

// How a link comes by its connection, and what becomes of it and of those who wait for it when it breaks.

namespace holdfast::postgres {

namespace {

using namespace std::chrono_literals;

// A connection unused for this long is looked at before it is used: the server may have gone meanwhile.
constexpr auto idle_time = 1ms;

}  // namespace

result<void> link::take_over(connection made) {
  guard lock(mutex_);
  if (!unsent_.empty()) return {};  // they go first, on the connection that is being made for them
  auto taken = take(std::move(made));
  last_use_ = {};  // who knows for how long it was not
  if (taken && once_) hand_over();
  return taken;
}

void link::close() noexcept {
  guard lock(mutex_);
  tell_.ended = nullptr;
  if (wire_) hang_up(broken(where_, "the session was ended"), lock);
}

result<void> link::take(connection made) {
  if (wire_) return {};  // there is one: somebody was faster
  if (!gate_) gate_ = sql::descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!gate_) return broken(where_, "no descriptor to wait with");
  if (PQsetnonblocking(made.get(), 1) != 0 || PQenterPipelineMode(made.get()) == 0) return failure_of(made.get());
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
  const auto ended = std::exchange(tell_.ended, nullptr);
  lock.unlock();
  if (!once_) engine_.log(log_level::warning, why.detail);
  lock.lock();
  tell(std::move(all), lock);
  if (!ended) return;
  lock.unlock();
  ended(why);
  lock.lock();
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
  auto waiting = std::exchange(unsent_, {});
  for (auto& r : waiting) submit(std::move(r), lock);
  // Those who block take over the reading; without one the reactor does.
  hand_over();
}

void link::give_up_waiting(guard& lock, const failure* because) {
  const failure why = because != nullptr ? *because : last_failure_;
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

}  // namespace holdfast::postgres
