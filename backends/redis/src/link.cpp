#include "link.hpp"

#include "dial.hpp"
#include "pause.hpp"
#include "redis_error.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

// A connection unused for this long is looked at before it is used: the server may have gone meanwhile.
constexpr auto idle_time = 1ms;

void epoll(int set, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(set, operation, fd, &event);
}

}  // namespace

link::link(settings where, spi::runtime& engine, when_down absent, on_introduced introduced)
    : where_(std::move(where)),
      engine_(engine),
      introduced_(std::move(introduced)),
      absent_(absent),
      patience_(engine.options().request_timeout),
      gate_(::epoll_create1(EPOLL_CLOEXEC)) {}

link::~link() {
  // The runtime's threads have ended: nobody is left to be told.
  unsent_.clear();
  sent_.clear();
}

result<void> link::open() {
  auto made = dial(where_, engine_.who().client_name, engine_.options().connect_timeout);
  if (!made) return made.error();
  const guard lock(mutex_);
  take(std::move(*made));
  return {};
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

void link::send(std::string commands, std::vector<answer> answers, spi::caller from) {
  seat mine;
  mine.left = answers.size();
  guard lock(mutex_);
  // A completion that asks again is called by the thread that reads: it cannot wait for itself.
  const bool blocks =
      from != spi::caller::must_not_block && !(driver_ == driver::caller && driving_ == std::this_thread::get_id());
  std::vector<request> requests;
  requests.reserve(answers.size());
  const auto deadline = engine_.now() + patience_;
  for (auto& told : answers) requests.push_back({std::move(told), blocks ? &mine : nullptr, deadline});
  if (wire_ && stale()) hang_up(broken(where_.shown(), "the server closed the connection"), lock);
  enqueue(std::move(commands), std::move(requests));
  flush(lock);
  if (blocks) return wait(mine, lock);
  if (wire_ && driver_ == driver::none && !sent_.empty()) arm();
  guard_deadline();
}

void link::enqueue(std::string commands, std::vector<request> requests) {
  if (!wire_) {
    unsent_.push_back({std::move(commands), std::move(requests)});
    reconnect();
    guard_deadline();
    return;
  }
  for (auto& r : requests) sent_.push_back(std::move(r));
  last_use_ = engine_.now();
  auto bytes = wire_->over.seal(std::move(commands));
  if (out_.empty())
    out_ = std::move(bytes);
  else
    out_ += bytes;
}

void link::flush(guard& lock) {
  if (std::exchange(sending_, true)) return;
  while (wire_ && !out_.empty()) {
    const auto to = wire_;
    const std::string bytes = std::exchange(out_, {});
    lock.unlock();
    ssize_t sent = 0;
    do sent = ::send(to->over.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    const bool broken = sent < 0 && errno != EAGAIN;
    lock.lock();
    // A broken connection is found by whoever reads.
    if (wire_ != to || broken) continue;
    const std::size_t taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    if (taken == bytes.size()) continue;
    out_.insert(0, bytes, taken);
    flush_later();
    break;
  }
  sending_ = false;
}

/// The socket is full, with megabytes the server has not read yet: try again in a moment.
void link::flush_later() {
  if (std::exchange(flush_owed_, true)) return;
  engine_.at(engine_.now() + 1ms, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    guard lock(self->mutex_);
    self->flush_owed_ = false;
    self->flush(lock);
  });
}

void link::wait(seat& mine, guard& lock) {
  while (mine.left != 0) {
    if (wire_ && driver_ == driver::none) {
      driver_ = driver::caller;
      driving_ = mine.whose;
      mine.drives = true;
    }
    if (!mine.drives) {
      mine.at = seats_.insert(seats_.end(), &mine);
      mine.waiting = true;
      lock.unlock();
      mine.woken.acquire();
      if (!mine.drives) return;  // answered; others may read
      lock.lock();
    }
    drive(mine, lock);
    mine.drives = false;
  }
  hand_over();
}

void link::drive(seat& mine, guard& lock) {
  const auto from = wire_;
  std::array<char, 16384> chunk;
  while (mine.left != 0 && from && wire_ == from) {
    const bool alone = seats_.empty();
    lock.unlock();
    const ssize_t got = alone ? look_out_.receive(from->over.fd.get(), chunk)
                              : ::recv(from->over.fd.get(), chunk.data(), chunk.size(), 0);
    const int error = errno;
    lock.lock();
    if (got > 0) {
      take_in(from, {chunk.data(), static_cast<std::size_t>(got)}, lock);
    } else if (got == 0) {
      if (wire_ == from) hang_up(broken(where_.shown(), "the server closed the connection"), lock);
    } else if (error == EAGAIN) {
      if (wire_ == from) hang_up(broken(where_.shown(), "the server did not answer in time"), lock);
    } else if (error != EINTR) {
      if (wire_ == from) hang_up(broken(where_.shown(), "receive", error), lock);
    }
  }
  driver_ = driver::none;
  driving_ = {};
}

/// To whoever's answers come last: he reads those of all others on the way. Nobody there: to the reactor.
void link::hand_over() {
  if (!wire_ || driver_ != driver::none) return;
  if (seats_.empty()) {
    if (sent_.empty()) return;
    arm();
    return guard_deadline();
  }
  seat& next = *seats_.back();
  seats_.pop_back();
  next.waiting = false;
  next.drives = true;
  driver_ = driver::caller;
  driving_ = next.whose;
  next.woken.release();
}

void link::read_ready() {
  guard lock(mutex_);
  const auto from = wire_;
  if (!from || driver_ != driver::reactor) return disarm();
  std::array<char, 16384> chunk;
  const ssize_t got = ::recv(from->over.fd.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (got > 0) {
    take_in(from, {chunk.data(), static_cast<std::size_t>(got)}, lock);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    return hang_up(broken(where_.shown(), "the server closed the connection"), lock);
  }
  if (wire_ != from || !sent_.empty()) return;
  driver_ = driver::none;
  disarm();
  hand_over();
}

void link::take_in(const std::shared_ptr<wire>& from, std::string_view bytes, guard& lock) {
  if (wire_ != from) return;  // hung up meanwhile: everybody was told
  const auto text = from->over.open(bytes);
  if (!text) return hang_up(broken(where_.shown(), text.error().detail), lock);
  if (const auto owed = from->over.owed(); !owed.empty()) {
    out_ += owed;
    flush(lock);
    if (wire_ != from) return;
  }
  from->reader.feed(*text);
  auto replies = from->reader.take();
  if (!replies) return hang_up(broken(where_.shown(), replies.error().detail), lock);
  std::vector<told_reply> all;
  bool replica = false;
  for (auto& r : *replies) {
    replica = replica || (r.is_error() && tells_of_replica(r.text()));
    if (sent_.empty()) {
      tell(std::move(all), lock);
      if (wire_ == from) hang_up(broken(where_.shown(), "it answers what nobody asked"), lock);
      return;
    }
    all.push_back({std::move(sent_.front()), std::move(r)});
    sent_.pop_front();
  }
  // The name of the server may stand for another one by now. First, so that who is told and asks again asks that one.
  if (replica)
    hang_up(broken(where_.shown(), "the server is a replica"), lock);
  else if (from->over.ended())
    hang_up(broken(where_.shown(), "the server closed the connection"), lock);
  tell(std::move(all), lock);
}

void link::tell(std::vector<told_reply> all, guard& lock) {
  if (all.empty()) return;
  lock.unlock();
  for (auto& one : all) one.asked.told(std::move(one.said));
  lock.lock();
  std::vector<seat*> answered;
  for (const auto& one : all) {
    seat* who = one.asked.who;
    // One that reads, or is about to, looks itself.
    if (who == nullptr || --who->left != 0 || !std::exchange(who->waiting, false)) continue;
    seats_.erase(who->at);
    answered.push_back(who);
  }
  if (answered.empty()) return;
  // Woken with nothing locked: they go on without us.
  lock.unlock();
  for (seat* who : answered) who->woken.release();
  lock.lock();
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

void link::arm() {
  driver_ = driver::reactor;
  if (armed_) return;
  // The reactor's thread starts with its first use: a client that never needs it has none.
  if (!std::exchange(watched_, true)) {
    engine_.on_readable(gate_.get(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->read_ready();
    });
  }
  epoll(gate_.get(), EPOLL_CTL_ADD, wire_->over.fd.get(), EPOLLIN);
  armed_ = true;
}

void link::disarm() {
  if (!armed_) return;
  if (wire_) epoll(gate_.get(), EPOLL_CTL_DEL, wire_->over.fd.get(), 0);
  armed_ = false;
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
  for (auto& r : sent_) all.push_back({std::move(r), why});
  sent_.clear();
  lock.unlock();
  engine_.log(log_level::warning, why.detail);
  lock.lock();
  tell(std::move(all), lock);
}

void link::reconnect() {
  if (dialling_) return;
  dialling_ = true;
  auto again = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->dial_again();
  };
  if (failures_ == 0) return engine_.post(std::move(again));
  engine_.at(engine_.now() + pause_before_dialling(failures_),
             [this, weak = weak_from_this(), again = std::move(again)]() mutable {
               if (auto self = weak.lock()) engine_.post(std::move(again));
             });
}

void link::dial_again() {
  auto made = dial(where_, engine_.who().client_name, engine_.options().connect_timeout);
  guard lock(mutex_);
  dialling_ = false;
  const std::string moved_to = std::exchange(moved_to_, {});
  if (made && !moved_to.empty() && made->peer != moved_to) return reconnect();
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
    for (auto& r : unsent_.front().requests) all.push_back({std::move(r), why});
    unsent_.pop_front();
  }
  tell(std::move(all), lock);
}

}  // namespace holdfast::redis
