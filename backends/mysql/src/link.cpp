#include "link.hpp"

#include "mysql_error.hpp"
#include "statements.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace holdfast::mysql {

using namespace std::chrono_literals;

namespace {

// Of one exchange. More would make the first of them wait for the last.
constexpr std::size_t most_statements = 32;
constexpr std::size_t most_bytes = 256 * 1024;

constexpr unsigned most_tries = 5;  // of one that is the victim of a deadlock

int milliseconds(std::chrono::nanoseconds time) {
  return static_cast<int>(
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count(), 0, 60'000));
}

}  // namespace

link::link(settings where, spi::runtime& engine)
    : where_(std::move(where)), engine_(engine), patience_(engine.options().request_timeout) {}

link::~link() {
  // The runtime's threads have ended: nobody is left to be told.
  unsent_.clear();
  sent_.clear();
}

void link::ask(const sql::statement& what, sql::arguments with, spi::caller from, answer told) {
  seat mine;
  request r{
      written(what, with), std::move(told), nullptr, engine_.now() + patience_, what.text.starts_with("CALL"), 0, {}};
  guard lock(mutex_);
  // A completion that asks again is called by the thread that reads: it cannot wait for itself.
  const bool blocks =
      from != spi::caller::must_not_block && !(driver_ == driver::caller && driving_ == std::this_thread::get_id());
  if (blocks) r.who = &mine;
  if (wire_ && stale()) hang_up(broken(where_, "the server closed the connection"), lock);
  if (blocks) sit_down(mine);
  try {
    submit(std::move(r), lock);
  } catch (...) {
    // Out of memory or threads: nobody is left in line who is not there any more to be told.
    if (std::exchange(mine.waiting, false)) seats_.erase(mine.at);
    throw;
  }
  if (blocks) return wait(mine, lock);
  if (wire_ && driver_ == driver::none && !sent_.empty()) arm();
  guard_deadline();
}

void link::submit(request r, guard& lock) {
  unsent_.push_back(std::move(r));
  if (!wire_) {
    try {
      reconnect();
      guard_deadline();
    } catch (...) {
      unsent_.pop_back();
      throw;
    }
    return;
  }
  if (!sent_.empty()) return;  // whoever reads sends it when that is over
  last_use_ = engine_.now();
  take_in(wire_, 0, lock);
}

/// Begins the next exchange. Requires: none is under way.
void link::send_waiting() {
  std::string text;
  while (!unsent_.empty() && sent_.size() < most_statements) {
    const std::string& next = unsent_.front().text;
    if (!sent_.empty() && text.size() + next.size() > most_bytes) break;
    if (!sent_.empty()) text += ';';
    text += next;
    sent_.push_back(std::move(unsent_.front()));
    unsent_.pop_front();
  }
  wire_->over.start(std::move(text));
}

void link::sit_down(seat& mine) {
  mine.at = seats_.insert(seats_.end(), &mine);
  mine.waiting = true;
}

void link::wait(seat& mine, guard& lock) {
  for (;;) {
    if (wire_ && driver_ == driver::none && mine.waiting && mine.unread) {
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
    if (mine.told) return hand_over();
    sit_down(mine);
  }
}

void link::drive(seat& mine, guard& lock) {
  const auto from = wire_;
  while (mine.unread && from && wire_ == from) {
    std::chrono::nanoseconds left = 1s;
    if (!sent_.empty()) left = std::min<std::chrono::nanoseconds>(left, sent_.front().deadline - engine_.now());
    pollfd one{from->over.fd(), from->over.wants(), 0};
    lock.unlock();
    const int ready = ::poll(&one, 1, milliseconds(left));
    lock.lock();
    if (ready > 0) take_in(from, one.revents, lock);
    if (wire_ == from && !sent_.empty() && sent_.front().deadline <= engine_.now())
      hang_up(broken(where_, "the server did not answer in time"), lock);
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

/// To whoever's answer comes last: he reads those of all others on the way. Nobody there: to the reactor.
void link::hand_over() {
  if (!wire_ || driver_ != driver::none) return;
  const auto last = std::find_if(seats_.rbegin(), seats_.rend(), [](const seat* s) { return s->unread; });
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
  take_in(from, armed_, lock);
  if (wire_ != from || driver_ != driver::reactor) return;
  if (!sent_.empty()) return arm();
  driver_ = driver::none;
  disarm();
  hand_over();
}

/// What there is to read, and then what is to be sent.
void link::take_in(const std::shared_ptr<wire>& from, short ready, guard& lock) {
  if (wire_ != from) return;  // hung up meanwhile: everybody was told
  std::vector<told_answer> all;
  const bool sound = collect(ready, all);
  tell(std::move(all), lock);
  if (!sound && wire_ == from) hang_up(broken(where_, last_failure_.detail), lock);
}

/// As far as it goes without waiting. False: the connection is of no more use.
bool link::collect(short ready, std::vector<told_answer>& all) {
  connection& over = wire_->over;
  for (;;) {
    if (!over.busy()) {
      send_again();
      if (unsent_.empty()) return true;
      send_waiting();
    }
    reply one;
    const auto how = over.go_on(std::exchange(ready, 0), one);
    if (how == connection::progress::waits) return true;
    if (how == connection::progress::replied && !accept(std::move(one), all)) return false;
  }
}

bool link::accept(reply one, std::vector<told_answer>& all) {
  if (sent_.empty()) return true;
  request& asked = sent_.front();
  if (one.refused) {
    // If it is the end of the connection, nobody knows what became of the statement: hang_up() tells.
    if (wire_->over.broken() || leaves_transaction_open(one.number)) {
      last_failure_ = *one.refused;
      // Too large for the server, say: that will not pass.
      if (one.refused->code != errc::unavailable && sent_.size() == 1) answer_first(*one.refused, all);
      return false;
    }
    if (deadlock_victim(one.number) && ++asked.tries < most_tries) return true;  // send_again() has it
    answer_first(*one.refused, all);
    return true;
  }
  if (!one.status) asked.got = std::move(one.got);
  if (one.status == asked.calls) answer_first(std::move(asked.got), all);
  return true;
}

void link::answer_first(result<sql::rows> said, std::vector<told_answer>& all) {
  request& asked = sent_.front();
  if (asked.who != nullptr) asked.who->unread = false;
  all.push_back({std::move(asked), std::move(said)});
  sent_.pop_front();
}

/// What stood behind a refusal was not done.
void link::send_again() {
  while (!sent_.empty()) {
    sent_.back().got = {};
    unsent_.push_front(std::move(sent_.back()));
    sent_.pop_back();
  }
}

void link::tell(std::vector<told_answer> all, guard& lock) {
  if (all.empty()) return;
  lock.unlock();
  for (auto& one : all) {
    try {
      one.asked.told(std::move(one.said));
    } catch (...) {  // Out of memory or threads: the others are told all the same.
      continue;
    }
  }
  lock.lock();
  std::vector<seat*> answered;
  for (const auto& one : all) {
    seat* who = one.asked.who;
    if (who == nullptr) continue;
    who->told = true;
    // One that reads, or is about to, looks itself.
    if (!std::exchange(who->waiting, false)) continue;
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
  const short wants = wire_->over.wants();
  if (armed_ != wants) {
    epoll_event event{};
    event.events = static_cast<std::uint32_t>(wants);  // EPOLLIN is POLLIN, and so on
    ::epoll_ctl(gate_.get(), armed_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, wire_->over.fd(), &event);
    armed_ = wants;
  }
  driver_ = driver::reactor;  // last: without a thread for the reactor nobody would read
}

void link::disarm() {
  if (armed_ == 0) return;
  if (wire_) ::epoll_ctl(gate_.get(), EPOLL_CTL_DEL, wire_->over.fd(), nullptr);
  armed_ = 0;
}

}  // namespace holdfast::mysql
