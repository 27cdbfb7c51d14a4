#include "link.hpp"

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

// How many times somebody sends what others have brought meanwhile.
constexpr int most_rounds = 16;

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
      patience_(engine.options().request_timeout) {}

link::~link() {
  // The runtime's threads have ended: nobody is left to be told.
  unsent_.clear();
  sent_.clear();
}

void link::send(std::string commands, std::vector<answer> answers, spi::caller from) {
  seat mine;
  mine.left = mine.unread = answers.size();
  guard lock(mutex_);
  // A completion that asks again is called by the thread that reads: it cannot wait for itself.
  const bool blocks = from != spi::caller::must_not_block && !answers.empty() &&
                      !(driver_ == driver::caller && driving_ == std::this_thread::get_id());
  std::vector<request> requests;
  requests.reserve(answers.size());
  const auto deadline = engine_.now() + patience_;
  for (auto& told : answers) requests.push_back({std::move(told), blocks ? &mine : nullptr, deadline});
  if (wire_ && stale()) hang_up(broken(where_.shown(), "the server closed the connection"), lock);
  if (blocks) sit_down(mine);
  try {
    enqueue(std::move(commands), std::move(requests));
  } catch (...) {
    if (blocks) seats_.erase(mine.at);
    throw;
  }
  flush(lock);
  if (blocks) return wait(mine, lock);
  if (wire_ && driver_ == driver::none && !sent_.empty()) arm();
  guard_deadline();
}

/// Out of memory: nobody is left in line who is not there any more to be told.
void link::enqueue(std::string commands, std::vector<request> requests) {
  if (!wire_) return enqueue_unsent({std::move(commands), std::move(requests)});
  const auto before = static_cast<std::ptrdiff_t>(sent_.size());
  try {
    for (auto& r : requests) sent_.push_back(std::move(r));
    auto bytes = wire_->over.seal(std::move(commands));
    if (out_.empty())
      out_ = std::move(bytes);
    else
      out_ += bytes;
  } catch (...) {
    sent_.erase(sent_.begin() + before, sent_.end());
    // Of a sealed stream nothing may be left out.
    ::shutdown(wire_->over.fd.get(), SHUT_RDWR);
    throw;
  }
  last_use_ = engine_.now();
}

void link::enqueue_unsent(parcel what) {
  unsent_.push_back(std::move(what));
  try {
    reconnect();
    guard_deadline();
  } catch (...) {
    unsent_.pop_back();
    throw;
  }
}

/// Whoever comes while another sends leaves it to him.
void link::flush(guard& lock) noexcept {
  if (std::exchange(sending_, true)) return;
  try {
    send_all(lock);
  } catch (const std::exception&) {
    // No memory for what is left: it cannot follow what is sent already.
    if (!lock.owns_lock()) lock.lock();
    if (wire_) ::shutdown(wire_->over.fd.get(), SHUT_RDWR);
  }
  sending_ = false;
}

void link::send_all(guard& lock) {
  for (int round = 0; wire_ && !out_.empty(); ++round) {
    if (round == most_rounds) return flush_soon(engine_.now());  // he has done enough for others
    const auto to = wire_;
    const std::string bytes = std::exchange(out_, {});
    const int fd = to->over.fd.get();
    lock.unlock();
    ssize_t sent = 0;
    do sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    const bool broke = sent < 0 && errno != EAGAIN;
    lock.lock();
    if (wire_ != to) continue;
    // Found by whoever reads; and nothing may follow what is lost.
    if (broke) ::shutdown(fd, SHUT_RDWR);
    const std::size_t taken = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    if (broke || taken == bytes.size()) continue;
    // The socket is full, with megabytes the server has not read yet.
    out_.insert(0, bytes, taken);
    return flush_soon(engine_.now() + 1ms);
  }
}

void link::flush_soon(spi::time_point when) {
  if (flush_owed_) return;
  engine_.at(when, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    guard lock(self->mutex_);
    self->flush_owed_ = false;
    self->flush(lock);
  });
  flush_owed_ = true;
}

void link::sit_down(seat& mine) {
  mine.at = seats_.insert(seats_.end(), &mine);
  mine.waiting = true;
}

void link::wait(seat& mine, guard& lock) {
  for (;;) {
    if (wire_ && driver_ == driver::none && mine.waiting && mine.unread != 0) {
      appoint(mine);
    } else {
      if (driver_ == driver::none) hand_over();
      lock.unlock();
      mine.woken.acquire();
      if (!mine.drives) return;  // answered; others may read
      lock.lock();
    }
    drive(mine, lock);
    mine.drives = false;
    if (mine.left == 0) return hand_over();
    sit_down(mine);
  }
}

void link::drive(seat& mine, guard& lock) {
  const auto from = wire_;
  std::array<char, 16384> chunk;
  while (mine.unread != 0 && from && wire_ == from) {
    const bool alone = seats_.empty();
    const int fd = from->over.fd.get();
    lock.unlock();
    const ssize_t got = alone ? look_out_.receive(fd, chunk) : ::recv(fd, chunk.data(), chunk.size(), 0);
    const int error = errno;
    lock.lock();
    if (got > 0) {
      take_in(from, {chunk.data(), static_cast<std::size_t>(got)}, lock);
    } else if (got == 0) {
      if (wire_ == from) hang_up(broken(where_.shown(), "the server closed the connection"), lock);
    } else if (error != EINTR && error != EAGAIN) {
      if (wire_ == from) hang_up(broken(where_.shown(), "receive", error), lock);
    }
    // Also if it says something now and then, or signals keep interrupting.
    if (wire_ == from && !sent_.empty() && sent_.front().deadline <= engine_.now())
      hang_up(broken(where_.shown(), "the server did not answer in time"), lock);
  }
  driver_ = driver::none;
  driving_ = {};
}

void link::appoint(seat& next) {
  seats_.erase(next.at);
  next.waiting = false;
  next.drives = true;
  driver_ = driver::caller;
  driving_ = next.whose;
}

/// To whoever's answers come last: he reads those of all others on the way. Nobody there: to the reactor.
void link::hand_over() {
  if (!wire_ || driver_ != driver::none) return;
  const auto last = std::find_if(seats_.rbegin(), seats_.rend(), [](const seat* s) { return s->unread != 0; });
  if (last != seats_.rend()) {
    seat& next = **last;
    appoint(next);
    return next.woken.release();
  }
  if (sent_.empty()) return;
  arm();
  guard_deadline();
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
    if (seat* who = all.back().asked.who) --who->unread;
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

void link::arm() {
  // The reactor's thread starts with its first use: a client that never needs it has none.
  if (!watched_) {
    engine_.on_readable(gate_.get(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->read_ready();
    });
    watched_ = true;
  }
  if (!std::exchange(armed_, true)) epoll(gate_.get(), EPOLL_CTL_ADD, wire_->over.fd.get(), EPOLLIN);
  driver_ = driver::reactor;  // last: without a thread for the reactor nobody would read
}

void link::disarm() {
  if (!armed_) return;
  if (wire_) epoll(gate_.get(), EPOLL_CTL_DEL, wire_->over.fd.get(), 0);
  armed_ = false;
}

}  // namespace holdfast::redis
