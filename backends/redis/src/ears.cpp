#include "ears.hpp"

#include "dial.hpp"
#include "pause.hpp"
#include "redis_error.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

// How often the server must show that it is there: a connection cut without a word is found by this.
constexpr auto beat = 5s;

}  // namespace

ears::ears(settings where, spi::runtime& engine, callbacks tell)
    : where_(std::move(where)), engine_(engine), tell_(std::move(tell)) {}

ears::~ears() = default;

void ears::listen(const subject& what, ready done) {
  guard lock(mutex_);
  auto [at, fresh] = interests_.try_emplace(what);
  if (at->second.confirmed) {
    lock.unlock();
    return done({});
  }
  at->second.waiting.emplace_back(engine_.now() + engine_.options().request_timeout, std::move(done));
  if (!line_) {
    connect();
  } else if (fresh) {
    say("SUBSCRIBE", what);
  }
  watch_over();
}

bool ears::hears(const subject& what) const {
  const guard lock(mutex_);
  const auto found = interests_.find(what);
  return found != interests_.end() && found->second.confirmed;
}

bool ears::wants(const subject& what) const {
  const guard lock(mutex_);
  return interests_.contains(what);
}

void ears::ignore(const subject& what) {
  const guard lock(mutex_);
  const auto found = interests_.find(what);
  // Somebody new may have come to wait for it.
  if (found == interests_.end() || !found->second.waiting.empty()) return;
  interests_.erase(found);
  if (line_) say("UNSUBSCRIBE", what);
}

void ears::drop(const subject& what) {
  guard lock(mutex_);
  const auto found = interests_.find(what);
  if (found == interests_.end()) return;
  auto waiting = std::move(found->second.waiting);
  interests_.erase(found);
  if (line_) say("UNSUBSCRIBE", what);
  lock.unlock();
  for (auto& [until, done] : waiting) done({errc::unavailable, "redis " + where_.shown() + ": it is heard elsewhere"});
}

void ears::connect() {
  if (dialling_) return;
  dial_later(engine_, failures_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->dial_now();
  });
  dialling_ = true;
}

void ears::dial_now() {
  auto made = dial(where_, engine_.who().client_name, engine_.options().connect_timeout);
  guard lock(mutex_);
  dialling_ = false;
  const std::string moved_to = std::exchange(moved_to_, {});
  if (made && !moved_to.empty() && made->peer != moved_to) return connect();
  if (made && !ready_to_read()) made = broken(where_.shown(), "no descriptor to listen with", errno);
  if (!made) {
    const bool first = failures_++ == 0;
    if (!interests_.empty()) connect();
    lock.unlock();
    if (first) engine_.log(log_level::warning, made.error().detail);
    if (tell_.trouble) tell_.trouble();
    return;
  }
  line_ = std::make_shared<line>(std::move(*made));
  reader_ = std::make_unique<reply_reader>();
  pinged_.reset();
  asked_.clear();
  let_others_read();
  for (auto& [what, wanted] : interests_) {
    wanted.confirmed = false;
    wanted.resumed = again_;
    say("SUBSCRIBE", what);
  }
}

void ears::say(std::string_view verb, const subject& what) {
  std::string whole(verb);
  if (what.what == subject::kind::pattern) whole.insert(0, 1, 'P');
  if (what.what == subject::kind::shard) whole.insert(0, 1, 'S');
  std::string bytes;
  append_command(bytes, {whole, what.text});
  asked_.push_back({what, verb != "SUBSCRIBE"});
  transmit(line_->seal(std::move(bytes)));
}

void ears::transmit(const std::string& bytes) {
  // Whatever does not go out is a broken connection, or a server that has stopped reading: the end is read at once.
  const int fd = line_->fd.get();
  const bool whole =
      ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
  if (!whole || bytes.empty()) ::shutdown(fd, SHUT_RDWR);
}

/// What it takes to read, and a machine out of descriptors may not have.
bool ears::ready_to_read() {
  if (!gate_) gate_ = descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!kick_) kick_ = descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return gate_ && kick_;
}

void ears::arm() {
  if (armed_) return;
  if (!watched_) {
    engine_.on_readable(gate_.get(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->read_ready();
    });
    watched_ = true;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  armed_ = ::epoll_ctl(gate_.get(), EPOLL_CTL_ADD, line_->fd.get(), &event) == 0;
}

void ears::disarm() {
  if (std::exchange(armed_, false)) ::epoll_ctl(gate_.get(), EPOLL_CTL_DEL, line_->fd.get(), nullptr);
}

/// Whoever read has ended: the next one who lends its thread takes over, or else the reactor.
void ears::let_others_read() {
  if (!line_ || driver_ != nullptr || reactor_reads_) return;
  if (resting_.empty()) return arm();
  resting_.front()->bell.release();
}

void ears::read_ready() {
  guard lock(mutex_);
  if (!line_ || !armed_ || driver_ != nullptr) return;
  reactor_reads_ = true;
  const auto from = line_;  // hung up in the midst of it, line_ is another
  read_some(from, lock);
  reactor_reads_ = false;
  let_others_read();
}

bool ears::lend(spi::loan& mine) {
  guard lock(mutex_);
  while (!mine.over) {
    if (line_ && driver_ == nullptr && !reactor_reads_) {
      read_for(mine, lock);
      continue;
    }
    const auto at = resting_.insert(resting_.end(), &mine);
    lock.unlock();
    mine.bell.acquire();
    lock.lock();
    resting_.erase(at);
  }
  let_others_read();
  return true;
}

void ears::end(spi::loan& mine) noexcept {
  const guard lock(mutex_);
  mine.over = true;
  if (driver_ != &mine) return mine.bell.release();
  if (driving_ != std::this_thread::get_id()) ::eventfd_write(kick_.get(), 1);
}

void ears::read_for(spi::loan& mine, guard& lock) {
  disarm();
  driver_ = &mine;
  driving_ = std::this_thread::get_id();
  const auto from = line_;
  while (!mine.over && line_ == from) {
    std::array<pollfd, 2> both{{{from->fd.get(), POLLIN, 0}, {kick_.get(), POLLIN, 0}}};
    lock.unlock();
    ::poll(both.data(), both.size(), -1);
    lock.lock();
    eventfd_t kicks = 0;
    if (both[1].revents != 0) ::eventfd_read(kick_.get(), &kicks);
    if (both[0].revents != 0 && line_ == from) read_some(from, lock);
  }
  driver_ = nullptr;
  driving_ = {};
}

/// As much as there is. Out of memory in the midst of it is the end of the connection: what it said is not known.
void ears::read_some(const std::shared_ptr<line>& from, guard& lock) {
  try {
    read_and_tell(from, lock);
  } catch (const std::exception& no) {
    if (lock.owns_lock()) lock.unlock();
    ::shutdown(from->fd.get(), SHUT_RDWR);
    engine_.log(log_level::warning, "redis " + where_.shown() + ": " + no.what());
    lock.lock();
  }
}

void ears::read_and_tell(const std::shared_ptr<line>& from, guard& lock) {
  std::array<char, 16384> chunk;
  const ssize_t got = ::recv(from->fd.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return hang_up("the server closed the connection that listens", lock);
  const auto text = from->open({chunk.data(), static_cast<std::size_t>(got)});
  if (!text) return hang_up(text.error().detail, lock);
  if (const auto owed = from->owed(); !owed.empty()) transmit(owed);
  const bool last = from->ended();
  reader_->feed(*text);
  auto replies = reader_->take();
  if (!replies) return hang_up(replies.error().detail, lock);
  for (const reply& r : *replies) {
    handle(r, lock);
    if (line_ != from) return;
  }
  if (last) hang_up("the server closed the connection that listens", lock);
}

void ears::handle(const reply& r, guard& lock) {
  pinged_.reset();
  const auto what = r.at(0).text();
  const bool plain = what != "pmessage";
  if (what != "message" && what != "smessage" && plain) {
    if (what == "sunsubscribe" && on_sunsubscribe(r.at(1).text(), lock)) return;
    // Whatever is no message answers a command, in the order they were sent.
    if (asked_.empty()) return hang_up("it answers what nobody asked", lock);
    const auto asked = std::move(asked_.front());
    asked_.pop_front();
    if (asked.what && !asked.leaves) {
      if (!r.is_error()) return confirm(*asked.what, lock);
      if (asked.what->what == subject::kind::shard && tells_of_other_node(r.text())) return move_out(*asked.what, lock);
      return refuse(*asked.what, failure_of(r.text()), lock);
    }
    // To leave what is served elsewhere is refused, and as good.
    if (r.is_error() && !(asked.leaves && tells_of_other_node(r.text()))) hang_up(std::string(r.text()), lock);
    return;
  }
  const reply channel = r.at(plain ? 1 : 2);
  const reply payload = r.at(plain ? 2 : 3);
  lock.unlock();
  tell_.message(channel.text(), payload.text());
  lock.lock();
}

void ears::confirm(const subject& what, guard& lock) {
  const auto found = interests_.find(what);
  if (found == interests_.end()) return;
  failures_ = 0;
  found->second.confirmed = true;
  found->second.resumed = false;
  auto waiting = std::exchange(found->second.waiting, {});
  const bool missed = resumed();
  lock.unlock();
  for (auto& [until, done] : waiting) done({});
  if (missed) tell_.gap();
  lock.lock();
}

void ears::refuse(const subject& what, const failure& why, guard& lock) {
  const auto found = interests_.find(what);
  if (found == interests_.end()) return;
  auto waiting = std::move(found->second.waiting);
  interests_.erase(found);
  const bool missed = resumed();
  lock.unlock();
  engine_.log(log_level::warning, "redis " + where_.shown() + ": '" + what.text + "' cannot be heard: " + why.detail);
  for (auto& [until, done] : waiting) done(why);
  if (missed) tell_.gap();
  lock.lock();
}

/// A node that gives a slot away says so to those who listen there, unasked. True: that is what it was.
bool ears::on_sunsubscribe(std::string_view channel, guard& lock) {
  if (!asked_.empty() && asked_.front().leaves && asked_.front().what->text == channel) return false;
  const subject what{subject::kind::shard, std::string(channel)};
  if (interests_.contains(what)) move_out(what, lock);
  return true;
}

void ears::move_out(const subject& what, guard& lock) {
  const auto found = interests_.find(what);
  if (found == interests_.end()) return;
  auto waiting = std::move(found->second.waiting);
  interests_.erase(found);
  lock.unlock();
  for (auto& [until, done] : waiting) done({errc::unavailable, "redis " + where_.shown() + ": the slot has moved"});
  if (tell_.moved) tell_.moved(what);
  lock.lock();
}

bool ears::resumed() {
  if (std::any_of(interests_.begin(), interests_.end(), [](auto& i) { return i.second.resumed; })) return false;
  return std::exchange(again_, false);
}

void ears::hang_up(const std::string& why, guard& lock) {
  disarm();
  ::shutdown(line_->fd.get(), SHUT_RDWR);  // wakes a thread that reads
  line_.reset();
  again_ = true;
  ++failures_;  // until a subscription holds
  for (auto& [channel, wanted] : interests_) wanted.confirmed = false;
  if (!interests_.empty()) connect();
  lock.unlock();
  engine_.log(log_level::warning, "redis " + where_.shown() + ": " + why);
  if (tell_.trouble) tell_.trouble();
  lock.lock();
}

void ears::leave_for(const std::string& server) {
  guard lock(mutex_);
  if (dialling_) moved_to_ = server;
  if (!line_ || line_->peer == server) return;
  const std::string why = line_->peer + " is the master no more, but " + server;
  hang_up(why, lock);
}

void ears::watch_over() {
  auto next = engine_.now() + beat;
  for (const auto& [channel, wanted] : interests_)
    for (const auto& [until, done] : wanted.waiting) next = std::min(next, until);
  if (next_beat_ && *next_beat_ <= next) return;
  if (next_beat_) engine_.cancel(beat_timer_);
  next_beat_ = next;
  beat_timer_ = engine_.at(next, [weak = weak_from_this(), next] {
    if (auto self = weak.lock()) self->on_beat(next);
  });
}

void ears::on_beat(spi::time_point due) {
  guard lock(mutex_);
  if (next_beat_ != due) return;  // it was cancelled too late
  next_beat_.reset();
  std::vector<ready> late;
  for (auto& [channel, wanted] : interests_) {
    std::erase_if(wanted.waiting, [&](auto& w) {
      if (w.first > engine_.now()) return false;
      late.push_back(std::move(w.second));
      return true;
    });
  }
  if (line_) {
    if (pinged_ && engine_.now() - *pinged_ >= beat) {
      hang_up("the server does not answer", lock);
    } else if (!pinged_) {
      pinged_ = engine_.now();
      std::string bytes;
      append_command(bytes, {"PING"});
      asked_.emplace_back();
      transmit(line_->seal(std::move(bytes)));
    }
  }
  if (!interests_.empty()) watch_over();
  lock.unlock();
  for (auto& done : late) done({errc::unavailable, "redis " + where_.shown() + ": subscribing took too long"});
}

}  // namespace holdfast::redis
