#include "ears.hpp"

#include "dial.hpp"
#include "mysql.hpp"
#include "pause.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::mysql {

using namespace std::chrono_literals;

namespace {

// How long it sleeps at the server. Only when it wakes does that find out that a client is gone, whose turn may have
// come meanwhile.
constexpr std::string_view nap = "0.5";  // seconds

// How often the server must show that it is there: a connection cut without a word is found by this.
constexpr auto beat = 5s;

std::string literal(std::int64_t number) {
  return "'" + std::string(sql::mysql::ear_lock) + std::to_string(number) + "'";
}

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
  auto made = dial(where_, engine_, limit);
  if (made) {
    // Before anybody finds this number in line: it must not be taken for dead. And letters that nobody will read, of
    // clients that are gone.
    auto set = made->run("DELETE FROM " + sql::mysql::table(where_.tables, sql::mysql::mail) +
                             " WHERE written < (UNIX_TIMESTAMP() - 3600) * 1000000 LIMIT 1000; SELECT GET_LOCK(" +
                             literal(number) + ", 0)",
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
  line_ = std::make_shared<connection>(std::move(*made));
  number_ = number;
  failures_ = 0;
  heard_.clear();
  phase_ = phase::fetches;  // as if it had: the next is to sleep
  last_heard_ = engine_.now();
  ask_next();
  reply none;
  line_->go_on(0, none);  // sends it
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
  if (!watched_) {
    engine_.on_readable(gate_.get(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->read_ready();
    });
    watched_ = true;
  }
  const short wants = line_->wants();
  if (armed_ == wants) return;
  epoll_event event{};
  event.events = static_cast<std::uint32_t>(wants);  // EPOLLIN is POLLIN, and so on
  ::epoll_ctl(gate_.get(), armed_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, line_->fd(), &event);
  armed_ = wants;
}

void ears::disarm() {
  if (std::exchange(armed_, short{0}) != 0) ::epoll_ctl(gate_.get(), EPOLL_CTL_DEL, line_->fd(), nullptr);
}

/// Whoever read has ended: the next one who lends its thread takes over, or else the reactor.
void ears::let_others_read() {
  if (!line_ || driver_ != nullptr || reactor_reads_) return;
  if (resting_.empty()) return arm();
  resting_.front()->bell.release();
}

void ears::read_ready() {
  guard lock(mutex_);
  if (!line_ || armed_ == 0 || driver_ != nullptr) return;
  reactor_reads_ = true;
  const auto from = line_;  // hung up in the midst of it, line_ is another
  read_some(from, armed_, lock);
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
    std::array<pollfd, 2> both{{{from->fd(), from->wants(), 0}, {kick_.get(), POLLIN, 0}}};
    lock.unlock();
    ::poll(both.data(), both.size(), -1);
    lock.lock();
    eventfd_t kicks = 0;
    if (both[1].revents != 0) ::eventfd_read(kick_.get(), &kicks);
    if (both[0].revents != 0 && line_ == from) read_some(from, both[0].revents, lock);
  }
  driver_ = nullptr;
  driving_ = {};
}

/// As much as there is.
void ears::read_some(const std::shared_ptr<connection>& from, short came, guard& lock) {
  bool good = true;
  while (good && line_ == from) {
    std::vector<std::string> letters;
    reply one;
    const auto how = from->go_on(std::exchange(came, short{0}), one);
    if (how == connection::progress::waits) return;
    last_heard_ = engine_.now();
    if (how == connection::progress::over)
      ask_next();
    else
      good = take_in(one, letters);
    if (letters.empty()) continue;
    lock.unlock();
    for (const auto& letter : letters) tell_.message(letter);
    lock.lock();
  }
  if (line_ == from) hang_up("the connection that listens broke", lock);
}

bool ears::take_in(const reply& one, std::vector<std::string>& letters) {
  constexpr unsigned interrupted = 1317;
  if (one.refused) {
    // Somebody has written. What was interrupted is asked again.
    if (one.number != interrupted) return false;
    phase_ = phase::sleeps;
    return true;
  }
  if (phase_ == phase::sleeps) {
    if (one.status)
      heard_.clear();  // they are thrown away
    else if (one.got.integer(0, 0) == 0)
      phase_ = phase::fetches;  // nothing came: as if it had fetched
    return true;
  }
  for (int row = 0; row < one.got.size(); ++row)
    if (heard_.insert(one.got.text(row, 0)).second) letters.push_back(one.got.text(row, 1));
  return true;
}

/// After sleep the letters, and then sleep again.
void ears::ask_next() {
  const std::string mail = sql::mysql::table(where_.tables, sql::mysql::mail);
  const std::string ours = " WHERE client = " + std::to_string(number_);
  if (phase_ == phase::sleeps) {
    phase_ = phase::fetches;
    return line_->start("SELECT seq, letter FROM " + mail + ours + " ORDER BY seq");
  }
  phase_ = phase::sleeps;
  std::string text;
  for (const auto& seq : heard_) text += (text.empty() ? "DELETE FROM " + mail + " WHERE seq IN (" : ",") + seq;
  if (!text.empty()) text += ");";
  line_->start(text + "SELECT IF(EXISTS(SELECT 1 FROM " + mail + ours + "), 1, SLEEP(" + std::string(nap) + "))");
}

void ears::hang_up(const std::string& why, guard& lock) {
  disarm();
  if (line_->fd() >= 0) ::shutdown(line_->fd(), SHUT_RDWR);  // wakes a thread that reads
  line_.reset();
  number_ = 0;
  connect();
  lock.unlock();
  engine_.log(log_level::warning, "mysql " + where_.shown() + ": " + why);
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
  if (line_ && engine_.now() - last_heard_ >= 2 * beat) hang_up("the server does not answer", lock);
  watch_over();
  lock.unlock();
  for (auto& done : late) done({errc::unavailable, "mysql " + where_.shown() + ": no connection to listen on"});
}

}  // namespace holdfast::mysql
