#include "dial.hpp"
#include "link.hpp"
#include "pause.hpp"
#include "redis_error.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

// How a link comes by its connection, and what becomes of it and of those who wait for it when it breaks.

namespace holdfast::redis {

namespace {

using namespace std::chrono_literals;

// A connection unused for this long is looked at before it is used: the server may have gone meanwhile.
constexpr auto idle_time = 1ms;

}  // namespace

result<void> link::open() {
  auto made = dial(where_, engine_.who().client_name, engine_.options().connect_timeout);
  if (!made) return made.error();
  const guard lock(mutex_);
  if (!has_gate()) return broken(where_.shown(), "no descriptor to wait with", errno);
  take(std::move(*made));
  return {};
}

bool link::has_gate() {
  if (!gate_) gate_ = descriptor(::epoll_create1(EPOLL_CLOEXEC));
  return static_cast<bool>(gate_);
}

void link::take(line made) {
  if (introduced_) introduced_(made.about.info, made.about.fsync);
  set_receive_timeout(made.fd.get(), patience_);
  wire_ = std::make_shared<wire>();
  wire_->over = std::move(made);
  last_use_ = engine_.now();
}

void link::leave_for(const std::string& server) {
  guard lock(mutex_);
  if (dialling_) moved_to_ = server;
  if (!wire_ || wire_->over.peer == server) return;
  hang_up(broken(where_.shown(), wire_->over.peer + " is the master no more, but " + server), lock);
}

bool link::stale() {
  if (!sent_.empty() || engine_.now() - last_use_ < idle_time) return false;
  const line& over = wire_->over;
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = ::recv(over.fd.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0) return errno != EAGAIN && errno != EINTR;
    // Session tickets and new keys come unasked, but say nothing. Anything else is the end, or an answer to nobody.
    if (got == 0 || !over.tls) return true;
    const auto text = over.open({chunk.data(), static_cast<std::size_t>(got)});
    if (!text || !text->empty() || over.ended()) return true;
    out_ += over.owed();
  }
}

/// A timer for those whom no blocked reader watches over.
void link::guard_deadline() {
  if (deadline_guarded_) return;
  auto first = spi::time_point::max();
  if (driver_ == driver::reactor && !sent_.empty()) first = sent_.front().deadline;
  if (!unsent_.empty()) first = std::min(first, unsent_.front().requests.front().deadline);
  if (first == spi::time_point::max()) return;
  deadline_guarded_ = true;
  engine_.at(first, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_deadline();
  });
}

void link::on_deadline() {
  guard lock(mutex_);
  deadline_guarded_ = false;
  if (driver_ == driver::reactor && !sent_.empty() && sent_.front().deadline <= engine_.now())
    hang_up(broken(where_.shown(), "the server did not answer in time"), lock);
  give_up_waiting(lock, nullptr);
  guard_deadline();
}

void link::hang_up(const failure& why, guard& lock) {
  disarm();
  ::shutdown(wire_->over.fd.get(), SHUT_RDWR);  // wakes a reader that blocks
  wire_.reset();
  if (driver_ == driver::reactor) driver_ = driver::none;
  out_.clear();
  last_failure_ = why;
  std::vector<told_reply> all;
  for (auto& r : sent_) {
    if (r.who != nullptr) --r.who->unread;
    all.push_back({std::move(r), why});
  }
  sent_.clear();
  lock.unlock();
  engine_.log(log_level::warning, why.detail);
  lock.lock();
  tell(std::move(all), lock);
}

void link::reconnect() {
  if (dialling_) return;
  dial_later(engine_, failures_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->dial_again();
  });
  dialling_ = true;
}

void link::dial_again() {
  auto made = dial(where_, engine_.who().client_name, engine_.options().connect_timeout);
  guard lock(mutex_);
  dialling_ = false;
  const std::string moved_to = std::exchange(moved_to_, {});
  if (made && !moved_to.empty() && made->peer != moved_to) return reconnect();
  if (made && !has_gate()) made = broken(where_.shown(), "no descriptor to wait with", errno);
  if (!made) {
    last_failure_ = made.error();
    if (failures_++ == 0) {
      lock.unlock();
      engine_.log(log_level::warning, made.error().detail);
      lock.lock();
    }
    const bool may_wait = absent_ == when_down::wait && made.error().code == errc::unavailable;
    give_up_waiting(lock, may_wait ? nullptr : &last_failure_);
    if (!unsent_.empty()) reconnect();
    return;
  }
  failures_ = 0;
  take(std::move(*made));
  auto parcels = std::move(unsent_);
  unsent_.clear();
  for (auto& p : parcels) enqueue(std::move(p.bytes), std::move(p.requests));
  flush(lock);
  // Those who block take over the reading; without one the reactor does.
  hand_over();
}

void link::give_up_waiting(guard& lock, const failure* because) {
  const failure why = because != nullptr ? *because : last_failure_;
  const auto now = engine_.now();
  std::vector<told_reply> all;
  while (!unsent_.empty() && (because != nullptr || unsent_.front().requests.front().deadline <= now)) {
    for (auto& r : unsent_.front().requests) {
      if (r.who != nullptr) --r.who->unread;
      all.push_back({std::move(r), why});
    }
    unsent_.pop_front();
  }
  tell(std::move(all), lock);
}

}  // namespace holdfast::redis
