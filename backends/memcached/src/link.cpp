#include "link.hpp"

#include "conversation.hpp"
#include "memcached_error.hpp"
#include "pause.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::memcached {

using namespace std::chrono_literals;

link::link(address where, settings as, spi::runtime& engine)
    : where_(std::move(where)), as_(std::move(as)), engine_(engine) {}

link::~link() {
  // The runtime's threads have ended: nobody is left to be told.
  unsent_.clear();
  sent_.clear();
}

result<void> link::open(std::chrono::nanoseconds limit) {
  const auto deadline = steady::now() + std::min<std::chrono::nanoseconds>(limit, 1h);
  auto found = resolve(where_);
  if (!found) return found.error();
  greeting first(where_, as_, *found, deadline);
  if (auto good = complete(first); !good) return good;
  const guard lock(mutex_);
  known_ = std::move(*found);
  take(first);
  return {};
}

void link::take(greeting& made) {
  auto next = std::make_shared<wire>();
  next->era = made.era();
  next->fd = made.take_socket();
  engine_.on_readable(next->fd.get(), [weak = weak_from_this(), next] {
    if (auto self = weak.lock()) self->read_ready(next);
  });
  wire_ = std::move(next);
}

void link::ask(command what, spi::time_point deadline, answer told) {
  if (deadline <= engine_.now()) return told(broken(where_.shown(), "the server did not answer in time"));
  guard lock(mutex_);
  request one{std::move(what), std::move(told), deadline};
  if (!wire_) {
    unsent_.push_back(std::move(one));
    reconnect();
    return guard_deadline(deadline);
  }
  auto refused = enqueue(std::move(one));
  if (refused) {
    lock.unlock();
    return refused->told(std::move(refused->said));
  }
  flush();
  guard_deadline(std::min(deadline, sent_.front().patience));
}

/// What may not be sent comes back with its answer.
std::optional<link::told_reply> link::enqueue(request one) {
  if (one.what.era != 0 && one.what.era != wire_->era) {
    reply changed;
    changed.text = "EX";
    changed.era = wire_->era;
    return told_reply{std::move(one.told), std::move(changed)};
  }
  out_ += one.what.line;
  if (one.what.mark == command::marking::opaque) {
    one.mark = ++last_mark_;
    out_ += " O" + std::to_string(one.mark);
  }
  out_ += "\r\n";
  if (one.what.data) out_ += *one.what.data + "\r\n";
  one.patience = engine_.now() + engine_.options().request_timeout;
  sent_.push_back(std::move(one));
  return std::nullopt;
}

void link::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(wire_->fd.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      out_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      break;  // the socket is full, with what the server has not read yet
    } else if (errno != EINTR) {
      ::shutdown(wire_->fd.get(), SHUT_RDWR);  // found by who reads
      return out_.clear();
    }
  }
  if (out_.empty() || std::exchange(flush_owed_, true)) return;
  engine_.at(engine_.now() + 1ms, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const guard lock(self->mutex_);
    self->flush_owed_ = false;
    if (self->wire_) self->flush();
  });
}

void link::read_ready(const std::shared_ptr<wire>& from) {
  const auto kept = from;  // forgetting the socket ends the caller, and with it the reference
  guard lock(mutex_);
  std::array<char, 65536> chunk;
  const ssize_t got = ::recv(kept->fd.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  const int error = errno;
  if (got > 0) {
    if (wire_ == kept) take_in(kept, {chunk.data(), static_cast<std::size_t>(got)}, lock);
  } else if (got == 0 || (error != EAGAIN && error != EINTR)) {
    if (wire_ == kept) hang_up(broken(where_.shown(), "the server closed the connection"), lock);
  }
  if (wire_ == kept) return;
  lock.unlock();
  engine_.forget(kept->fd.get());
}

void link::take_in(const std::shared_ptr<wire>& from, std::string_view bytes, guard& lock) {
  from->reader.feed(bytes);
  auto replies = from->reader.take();
  if (!replies) return hang_up(broken(where_.shown(), replies.error().detail), lock);
  std::deque<told_reply> all;
  std::string doubt;
  for (auto& one : *replies) {
    if (!match(std::move(one), from, all))
      doubt = "its answers are not to what was asked";
    else if (!all.back().in_step)
      // What comes after a command that was not understood cannot be told from its rest.
      doubt = "it did not understand a command";
    if (!doubt.empty()) break;
  }
  tell(std::move(all), lock);
  if (!doubt.empty() && wire_ == from) hang_up(broken(where_.shown(), doubt), lock);
}

/// Finds whom the answer is for; false if it cannot be for the one whose turn it is.
bool link::match(reply said, const std::shared_ptr<wire>& from, std::deque<told_reply>& into) {
  if (sent_.empty()) return false;
  request& first = sent_.front();
  const bool error = said.kind == reply::what::error;
  if (!error && first.mark != 0 && said.number('O') != first.mark) return false;
  // The older commands answer in longer words.
  if (!error && first.mark == 0 && said.kind != reply::what::list && said.status().size() == 2) return false;
  if (error) {
    auto why = failure_of(said.text);
    why.detail = "memcached " + where_.shown() + ": " + why.detail;
    into.push_back({std::move(first.told), std::move(why), keeps_in_step(said.text)});
  } else {
    said.era = from->era;
    into.push_back({std::move(first.told), std::move(said)});
  }
  sent_.pop_front();
  return true;
}

void link::tell(std::deque<told_reply> all, guard& lock) {
  if (all.empty()) return;
  lock.unlock();
  for (auto& one : all)
    if (one.told) one.told(std::move(one.said));
  lock.lock();
}

void link::hang_up(const failure& why, guard& lock) {
  // What the server has not got by now it must not get later, when nobody wants it any more: closing drops it.
  const ::linger at_once{1, 0};
  ::setsockopt(wire_->fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::shutdown(wire_->fd.get(), SHUT_RDWR);  // the reactor sees its end, and forgets it
  wire_.reset();
  out_.clear();
  last_failure_ = why;
  std::deque<told_reply> all;
  for (auto& one : sent_) all.push_back({std::move(one.told), failure(why)});
  sent_.clear();
  lock.unlock();
  engine_.log(log_level::warning, why.detail);
  lock.lock();
  tell(std::move(all), lock);
}

void link::reconnect() {
  if (std::exchange(dialling_, true)) return;
  const auto pause = failures_ == 0 ? 0ns : pause_before_dialling(failures_);
  engine_.at(engine_.now() + pause, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->dial();
  });
}

/// On the reactor, in steps: one server that does not answer must not keep us from the others. Only for what a name
/// stands for a thread has to wait, and not at the first attempt.
void link::dial() {
  if (auto all = numeric(where_)) return greet(*all);
  std::vector<endpoint> known;
  {
    const guard lock(mutex_);
    if (failures_ == 0) known = known_;
  }
  if (!known.empty()) return greet(known);
  engine_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    auto found = resolve(self->where_);
    // Back to the reactor, on which all of it happens.
    self->engine_.at(self->engine_.now(), [weak, found = std::move(found)] {
      const auto still = weak.lock();
      if (!still) return;
      if (!found) return still->not_dialled(found.error());
      still->greet(*found);
    });
  });
}

void link::greet(const std::vector<endpoint>& to) {
  {
    const guard lock(mutex_);
    known_ = to;
  }
  const auto limit = std::min<std::chrono::nanoseconds>(engine_.options().connect_timeout, 1h);
  go_on(std::make_shared<greeting>(where_, as_, to, steady::now() + limit), 0);
}

void link::go_on(const std::shared_ptr<greeting>& under_way, unsigned steps) {
  const auto done = under_way->step();
  if (!done) return not_dialled(done.error());
  if (*done) return dialled(*under_way);
  // Most answers come at once.
  const auto pause = steps < 20 ? 1ms : 10ms;
  engine_.at(engine_.now() + pause, [weak = weak_from_this(), under_way, steps] {
    if (auto self = weak.lock()) self->go_on(under_way, steps + 1);
  });
}

void link::not_dialled(const failure& why) {
  guard lock(mutex_);
  dialling_ = false;
  last_failure_ = why;
  if (failures_++ == 0) {
    lock.unlock();
    engine_.log(log_level::warning, why.detail);
    lock.lock();
  }
  give_up_waiting(lock, why.code == errc::unavailable ? nullptr : &why);
  if (!unsent_.empty()) reconnect();
}

void link::dialled(greeting& made) {
  guard lock(mutex_);
  dialling_ = false;
  failures_ = 0;
  take(made);
  std::deque<told_reply> refused;
  for (auto& one : std::exchange(unsent_, {}))
    if (auto back = enqueue(std::move(one))) refused.push_back(std::move(*back));
  flush();
  guard_deadlines();
  tell(std::move(refused), lock);
}

/// One timer, for whoever comes first: that need not be who asked first, as what follows from an answer is asked with
/// the deadline of the whole.
void link::guard_deadlines() {
  auto first = sent_.empty() ? spi::time_point::max() : sent_.front().patience;
  for (const auto* all : {&sent_, &unsent_})
    for (const auto& one : *all)
      if (one.told) first = std::min(first, one.deadline);
  if (first != spi::time_point::max()) guard_deadline(first);
}

void link::guard_deadline(spi::time_point first) {
  if (guard_timer_ && guarded_until_ <= first) return;
  if (guard_timer_) engine_.cancel(*guard_timer_);
  guarded_until_ = first;
  guard_timer_ = engine_.at(first, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_deadline();
  });
}

void link::on_deadline() {
  guard lock(mutex_);
  guard_timer_.reset();
  give_up_sent(lock);
  if (wire_ && !sent_.empty() && sent_.front().patience <= engine_.now())
    hang_up(broken(where_.shown(), "the server did not answer in time"), lock);
  give_up_waiting(lock, nullptr);
  guard_deadlines();
}

/// Those who were sent and whose time is over. Their places stay: the answers may come yet, and are then for nobody.
void link::give_up_sent(guard& lock) {
  const auto now = engine_.now();
  std::deque<told_reply> all;
  for (auto& one : sent_) {
    if (!one.told || one.deadline > now) continue;
    all.push_back({std::move(one.told), broken(where_.shown(), "the server did not answer in time")});
    one.told = nullptr;
  }
  tell(std::move(all), lock);
}

/// Those whose time is over; with a reason, all.
void link::give_up_waiting(guard& lock, const failure* because) {
  const failure why = because != nullptr ? *because : last_failure_;
  const auto now = engine_.now();
  std::deque<told_reply> all;
  std::deque<request> left;
  for (auto& one : unsent_) {
    if (because != nullptr || one.deadline <= now)
      all.push_back({std::move(one.told), failure(why)});
    else
      left.push_back(std::move(one));
  }
  unsent_ = std::move(left);
  tell(std::move(all), lock);
}

}  // namespace holdfast::memcached
