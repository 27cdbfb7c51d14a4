#include "ears.hpp"

#include "pause.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::postgres {

using namespace std::chrono_literals;

namespace {

// How often the server must show that it is there: a connection cut without a word is found by this.
constexpr auto beat = 5s;

std::int64_t random_number() {
  const auto id = spi::owner_id::random();
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = (bits << 8) | id.bytes[static_cast<std::size_t>(i)];
  return static_cast<std::int64_t>(bits >> 1) | 1;  // positive, and never 0
}

}  // namespace

ears::ears(settings where, spi::runtime& engine, callbacks tell)
    : where_(std::move(where)), engine_(engine), tell_(std::move(tell)) {}

ears::~ears() = default;

std::int64_t ears::number() const {
  const guard lock(mutex_);
  return number_;
}

void ears::listen(ready done) {
  guard lock(mutex_);
  if (number_ != 0) {
    lock.unlock();
    return done({});
  }
  waiting_.emplace_back(engine_.now() + engine_.options().request_timeout, std::move(done));
  connect();
  watch_over();
}

void ears::connect() {
  if (dialling_) return;
  sql::dial_later(engine_, failures_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->dial_now();
  });
  dialling_ = true;
}

void ears::dial_now() {
  const auto limit = engine_.options().connect_timeout;
  const std::int64_t number = random_number();
  const std::string digits = std::to_string(number);
  auto made = dial(where_, engine_, limit);
  if (made) {
    // The lock first: whoever finds this number in line must not take us for dead.
    auto set = made->run("SELECT pg_advisory_lock(" + digits + "); LISTEN holdfast_" + digits,
                         connection::clock::now() + limit);
    if (!set) made = set.error();
  }
  guard lock(mutex_);
  dialling_ = false;
  if (made && !ready_to_read()) made = broken(where_, "no descriptor to listen with");
  auto waiting = made || made.error().code != errc::unavailable ? std::exchange(waiting_, {}) : decltype(waiting_){};
  if (!made) {
    const bool first = failures_++ == 0;
    if (made.error().code == errc::unavailable) connect();
    lock.unlock();
    if (first) engine_.log(log_level::warning, made.error().detail);
    for (auto& [until, done] : waiting) done(made.error());
    return;
  }
  PQsetnonblocking(made->get(), 1);
  line_ = std::make_shared<connection>(std::move(*made));
  number_ = number;
  failures_ = 0;
  asked_.reset();
  let_others_read();
  watch_over();
  lock.unlock();
  for (auto& [until, done] : waiting) done({});
  tell_.gap();
}

/// What it takes to read, and a machine out of descriptors may not have.
bool ears::ready_to_read() {
  if (!gate_) gate_ = sql::descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!kick_) kick_ = sql::descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
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
  armed_ = ::epoll_ctl(gate_.get(), EPOLL_CTL_ADD, line_->fd(), &event) == 0;
}

void ears::disarm() {
  if (std::exchange(armed_, false)) ::epoll_ctl(gate_.get(), EPOLL_CTL_DEL, line_->fd(), nullptr);
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
    std::array<pollfd, 2> both{{{from->fd(), POLLIN, 0}, {kick_.get(), POLLIN, 0}}};
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

/// As much as there is.
void ears::read_some(const std::shared_ptr<connection>& from, guard& lock) {
  PGconn* const conn = from->get();
  const bool read = PQconsumeInput(conn) != 0 && from->good();
  bool read_only = false;
  while (PQisBusy(conn) == 0) {
    const rows answer(PQgetResult(conn));
    if (answer.raw() == nullptr) break;
    asked_.reset();
    read_only = answer.size() == 1 && answer.text(0, 0) == "on";
  }
  std::vector<std::string> said;
  while (PGnotify* one = PQnotifies(conn)) {
    said.emplace_back(one->extra);
    PQfreemem(one);
  }
  if (!said.empty()) {
    lock.unlock();
    for (const auto& payload : said) tell_.message(payload);
    lock.lock();
  }
  if (line_ != from) return;
  if (!read || !from->good()) return hang_up("the connection that listens broke", lock);
  // Who lets us in is at another one by now, and must find us there.
  if (read_only && where_.several_hosts()) hang_up("the server that we listen to is read-only", lock);
}

void ears::hang_up(const std::string& why, guard& lock) {
  disarm();
  if (line_->fd() >= 0) ::shutdown(line_->fd(), SHUT_RDWR);  // wakes a thread that reads
  line_.reset();
  number_ = 0;
  connect();
  lock.unlock();
  engine_.log(log_level::warning, "postgresql " + where_.shown() + ": " + why);
  tell_.gap();
  lock.lock();
}

void ears::watch_over() {
  if (std::exchange(watched_over_, true)) return;
  auto next = engine_.now() + beat;
  for (const auto& [until, done] : waiting_) next = std::min(next, until);
  engine_.at(next, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->on_beat();
  });
}

void ears::on_beat() {
  guard lock(mutex_);
  watched_over_ = false;
  std::vector<ready> late;
  std::erase_if(waiting_, [&](auto& w) {
    if (w.first > engine_.now()) return false;
    late.push_back(std::move(w.second));
    return true;
  });
  if (line_ && asked_ && engine_.now() - *asked_ >= beat) {
    hang_up("the server does not answer", lock);
  } else if (line_ && !asked_) {
    asked_ = engine_.now();
    // What cannot be sent is a broken connection: the end is read at once.
    if (PQsendQuery(line_->get(), "SHOW transaction_read_only") == 0 || PQflush(line_->get()) != 0)
      ::shutdown(line_->fd(), SHUT_RDWR);
  }
  watch_over();
  lock.unlock();
  for (auto& done : late) done({errc::unavailable, "postgresql " + where_.shown() + ": no connection to listen on"});
}

}  // namespace holdfast::postgres
