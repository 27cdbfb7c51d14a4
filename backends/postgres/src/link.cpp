#include "link.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast::postgres {

using namespace std::chrono_literals;

namespace {

void epoll(int set, int operation, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(set, operation, fd, &event);
}

bool send(PGconn* to, const std::string& statement, const sql::arguments& with) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const auto& one : with.all()) {
    values.push_back(one.text.c_str());
    lengths.push_back(static_cast<int>(one.text.size()));
    formats.push_back(one.is == sql::arguments::value::form::bytes ? 1 : 0);
  }
  return PQsendQueryPrepared(to, statement.c_str(), static_cast<int>(values.size()), values.data(), lengths.data(),
                             formats.data(), 0) != 0;
}

// SQLSTATEs that tell something of the connection.
constexpr std::string_view duplicate_statement = "42P05";
constexpr std::string_view unknown_statement = "26000";
constexpr std::string_view read_only = "25006";

int milliseconds(std::chrono::nanoseconds time) {
  return static_cast<int>(
      std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count(), 0, 60'000));
}

}  // namespace

link::link(settings where, spi::runtime& engine)
    : where_(std::move(where)), engine_(engine), patience_(engine.options().request_timeout) {}

link::link(settings where, spi::runtime& engine, only_session tell)
    : where_(std::move(where)),
      engine_(engine),
      patience_(engine.options().request_timeout),
      once_(true),
      tell_(std::move(tell)) {}

link::~link() {
  // The runtime's threads have ended: nobody is left to be told.
  unsent_.clear();
  sent_.clear();
}

void link::ask(const sql::statement& what, sql::arguments with, spi::caller from, answer told) {
  ask_until(engine_.now() + patience_, what, std::move(with), from, std::move(told));
}

void link::ask_until(spi::time_point deadline, const sql::statement& what, sql::arguments with, spi::caller from,
                     answer told) {
  seat mine;
  guard lock(mutex_);
  // A completion that asks again is called by the thread that reads: it cannot wait for itself.
  const bool blocks =
      from != spi::caller::must_not_block && !(driver_ == driver::caller && driving_ == std::this_thread::get_id());
  request r{&what, std::move(with), std::move(told), blocks ? &mine : nullptr, deadline, false, {}, {}};
  if (wire_ && !wire_->unfit.empty())
    hang_up(broken(where_, wire_->unfit), lock);
  else if (wire_ && stale())
    hang_up(broken(where_, "the server closed the connection"), lock);
  if (once_ && !wire_) {
    const failure why = last_failure_;
    lock.unlock();
    return r.told(why);
  }
  if (driver_ == driver::reactor && sent_.empty()) {  // it only listens
    disarm();
    driver_ = driver::none;
  }
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
  if (!wire_) return keep_for_later(std::move(r));
  sent_.push_back(std::move(r));
  last_use_ = engine_.now();
  if (!transmit_or_undo()) hang_up(failure_of(wire_->over.get()), lock);
}

void link::keep_for_later(request r) {
  unsent_.push_back(std::move(r));
  try {
    reconnect();
    guard_deadline();
  } catch (...) {
    unsent_.pop_back();
    throw;
  }
}

/// The last of sent_. One that is not sent whole must not be answered: the answers of the others would go astray.
bool link::transmit_or_undo() {
  try {
    return transmit(sent_.back());
  } catch (...) {
    sent_.pop_back();
    wire_->unfit = "a request was not sent whole";
    ::shutdown(wire_->over.fd(), SHUT_RDWR);  // wakes a reader
    throw;
  }
}

/// Into libpq's buffer, and from there as far as the socket takes it.
bool link::transmit(request& r) {
  PGconn* const to = wire_->over.get();
  const sql::statement& what = *r.what;
  if (!wire_->prepared.contains(what.name)) {
    if (PQsendPrepare(to, what.name.c_str(), what.text.c_str(), 0, nullptr) == 0) return false;
    wire_->prepared.insert(what.name);
    r.prepares = true;
  }
  if (!send(to, what.name, r.with)) return false;
  // The end of a transaction, and a push.
  if (PQpipelineSync(to) == 0) return false;
  r.with = {};
  const int left = PQflush(to);
  if (left > 0) flush_soon();
  return left >= 0;
}

/// The socket is full. libpq may have read meanwhile what nobody will be woken for: that is looked at too.
void link::flush_soon() {
  if (std::exchange(flush_owed_, true)) return;
  engine_.at(engine_.now() + 1ms, [weak = weak_from_this()] {
    auto self = weak.lock();
    if (!self) return;
    guard lock(self->mutex_);
    self->flush_owed_ = false;
    const auto from = self->wire_;
    if (!from) return;
    if (PQflush(from->over.get()) > 0) self->flush_soon();
    self->take_in(from, lock);
  });
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
    // Not for long: what flush_soon() has read nobody is woken for.
    std::chrono::nanoseconds left = 250ms;
    if (!sent_.empty()) left = std::min<std::chrono::nanoseconds>(left, sent_.front().deadline - engine_.now());
    pollfd one{from->over.fd(), POLLIN, 0};
    lock.unlock();
    const int ready = ::poll(&one, 1, milliseconds(left));
    lock.lock();
    if (ready > 0) take_in(from, lock);
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
  if (sent_.empty() && !once_) return;
  arm();
  guard_deadline();
}

void link::read_ready() {
  guard lock(mutex_);
  const auto from = wire_;
  if (!from || driver_ != driver::reactor) return disarm();
  take_in(from, lock);
  if (wire_ != from || driver_ != driver::reactor || !sent_.empty()) return;
  driver_ = driver::none;
  disarm();
  hand_over();
}

void link::take_in(const std::shared_ptr<wire>& from, guard& lock) {
  if (wire_ != from) return;  // hung up meanwhile: everybody was told
  const bool read = PQconsumeInput(from->over.get()) != 0;
  if (sent_.empty()) static_cast<void>(PQisBusy(from->over.get()));  // takes in what is said unasked
  std::vector<told_answer> all;
  const bool sound = from->unfit.empty() && collect(all) && read && from->over.good() && from->unfit.empty();
  failure why = sound ? failure{errc::unavailable, ""} : failure_of(from->over.get());
  if (!from->unfit.empty()) why.detail = from->unfit;
  tell(std::move(all), lock);
  if (tell_.told) pass_on(from, lock);
  if (!sound && wire_ == from) hang_up(broken(where_, why.detail), lock);
}

void link::pass_on(const std::shared_ptr<wire>& from, guard& lock) {
  std::vector<std::string> letters;
  while (PGnotify* one = PQnotifies(from->over.get())) {
    letters.emplace_back(one->extra);
    PQfreemem(one);
  }
  if (letters.empty()) return;
  lock.unlock();
  for (const auto& letter : letters) tell_.told(letter);
  lock.lock();
}

/// As much as there is. False: the connection is of no more use.
bool link::collect(std::vector<told_answer>& all) {
  PGconn* const from = wire_->over.get();
  int nothing = 0;  // between two results libpq says it once; twice, and there is no more
  while (!sent_.empty() && nothing < 2 && PQisBusy(from) == 0) {
    rows next(PQgetResult(from));
    if (next.raw() == nullptr) {
      ++nothing;
      continue;
    }
    nothing = 0;
    accept(std::move(next), all);
    if (!wire_->over.good()) return false;
  }
  return true;
}

void link::accept(rows next, std::vector<told_answer>& all) {
  request& asked = sent_.front();
  switch (PQresultStatus(next.raw())) {
    case PGRES_TUPLES_OK:
      asked.got = next.plain();
      break;
    case PGRES_COMMAND_OK:
      // It is prepared, and stays so whatever becomes of its execution.
      asked.prepares = false;
      break;
    case PGRES_FATAL_ERROR:
      learn(asked, sqlstate(next.raw()));
      // If it is the end of the connection, nobody knows what became of the statement: hang_up() tells.
      if (!asked.refused && wire_->over.good()) asked.refused = failure_of(next.raw());
      break;
    case PGRES_PIPELINE_SYNC: {
      if (asked.who != nullptr) asked.who->unread = false;
      auto said = asked.refused ? result<sql::rows>(*asked.refused) : result<sql::rows>(std::move(asked.got));
      all.push_back({std::move(asked), std::move(said)});
      sent_.pop_front();
      break;
    }
    default:
      break;
  }
}

/// What an error says about the connection itself.
void link::learn(const request& asked, std::string_view state) {
  if (state == duplicate_statement)
    wire_->prepared.insert(asked.what->name);
  else if (asked.prepares || state == unknown_statement)
    wire_->prepared.erase(asked.what->name);
  // Another host may be the one that can be written to by now.
  if (state == read_only && where_.several_hosts()) wire_->unfit = "the server is read-only (SQLSTATE 25006)";
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
    one.asked.told = nullptr;  // what it owned may be the last to own this link's session
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
  if (!std::exchange(armed_, true)) epoll(gate_.get(), EPOLL_CTL_ADD, wire_->over.fd());
  driver_ = driver::reactor;  // last: without a thread for the reactor nobody would read
}

void link::disarm() {
  if (!armed_) return;
  if (wire_) epoll(gate_.get(), EPOLL_CTL_DEL, wire_->over.fd());
  armed_ = false;
}

}  // namespace holdfast::postgres
