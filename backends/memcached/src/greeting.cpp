#include "greeting.hpp"

#include "memcached_error.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>

namespace holdfast::memcached {

namespace {

using namespace std::chrono_literals;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Before 1.6.10 the meta commands answered in other words.
bool too_old(std::string_view version) {
  std::array<unsigned, 3> part{};
  for (auto& one : part) {
    const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), one);
    if (failed != std::errc()) return false;
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.starts_with('.')) version.remove_prefix(1);
  }
  return part < std::array<unsigned, 3>{1, 6, 10};
}

int look_up(const address& with, int flags, std::vector<endpoint>& into) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(with.host.c_str(), with.port.c_str(), &wanted, &found)) return error;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    endpoint one;
    one.size = std::min<socklen_t>(a->ai_addrlen, sizeof one.to);
    std::memcpy(&one.to, a->ai_addr, one.size);
    into.push_back(one);
  }
  return 0;
}

}  // namespace

result<std::vector<endpoint>> resolve(const address& with) {
  std::vector<endpoint> all;
  if (const int error = look_up(with, 0, all))
    return broken(with.shown(), std::string("no such host: ") + ::gai_strerror(error));
  return all;
}

std::optional<std::vector<endpoint>> numeric(const address& with) {
  std::vector<endpoint> all;
  if (look_up(with, AI_NUMERICHOST | AI_NUMERICSERV, all) != 0) return std::nullopt;
  return all;
}

greeting::greeting(const address& with, const settings& as, std::vector<endpoint> to, steady::time_point deadline)
    : peer_(with.shown()),
      login_(as.user.empty() ? "" : as.user + " " + as.password),
      to_(std::move(to)),
      deadline_(deadline) {}

result<bool> greeting::step() {
  for (;;) {
    if (steady::now() >= deadline_) return late();
    if (at_ == stage::nowhere || at_ == stage::connecting) {
      auto there = at_ == stage::nowhere ? connect() : connected();
      if (!there || !*there) return there;
    }
    if (at_ == stage::too_young) {
      if (steady::now() < look_again_) return false;
      if (auto good = say("stats\r\n", stage::start); !good) return good;
    }
    auto said = hear();
    if (!said) return said.error();
    if (!*said) return false;
    auto done = take_in(**said);
    if (!done || *done) return done;
  }
}

void greeting::wait() const {
  const auto until = at_ == stage::too_young ? look_again_ : at_ == stage::connecting ? try_until_ : deadline_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::min(until, deadline_) - steady::now()).count();
  pollfd watched{fd_.get(), static_cast<short>(at_ == stage::connecting ? POLLOUT : POLLIN), 0};
  // While it is too young nothing will come.
  if (at_ == stage::too_young) watched.fd = -1;
  ::poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
}

failure greeting::late() const {
  if (at_ == stage::too_young) return broken(peer_, "the server has only just started");
  if (at_ == stage::nowhere || at_ == stage::connecting)
    return broken(peer_, "cannot connect", error_ != 0 ? error_ : ETIMEDOUT);
  return broken(peer_, "asking", ETIMEDOUT);
}

/// To the next address, which has its share of the time that is left: the first may swallow everything.
result<bool> greeting::connect() {
  if (next_ == to_.size()) return broken(peer_, "cannot connect", error_ != 0 ? error_ : EADDRNOTAVAIL);
  const auto now = steady::now();
  try_until_ = now + (deadline_ - now) / static_cast<std::int64_t>(to_.size() - next_);
  const endpoint& one = to_[next_++];
  fd_ = descriptor(::socket(one.to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd_) return refused(errno);
  at_ = stage::connecting;
  if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&one.to), one.size) != 0 && errno != EINPROGRESS &&
      errno != EAGAIN)
    return refused(errno);
  return connected();
}

/// True: something was asked.
result<bool> greeting::connected() {
  pollfd watched{fd_.get(), POLLOUT, 0};
  if (::poll(&watched, 1, 0) <= 0) {
    if (steady::now() >= try_until_) return refused(ETIMEDOUT);
    return false;
  }
  int outcome = 0;
  socklen_t length = sizeof outcome;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &outcome, &length);
  if (outcome != 0) return refused(outcome);
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return say("stats settings\r\n", stage::settings);
}

result<bool> greeting::refused(int error) {
  error_ = error;
  at_ = stage::nowhere;
  return connect();
}

/// A few bytes on a socket that has just been made fit into it.
result<bool> greeting::say(std::string_view commands, stage next) {
  at_ = next;
  const ssize_t sent = ::send(fd_.get(), commands.data(), commands.size(), MSG_NOSIGNAL);
  // If it was closed, why may be there to be read.
  if (sent < 0 && errno != EPIPE && errno != ECONNRESET) return broken(peer_, "asking", errno);
  if (sent >= 0 && static_cast<std::size_t>(sent) < commands.size()) return broken(peer_, "asking", EMSGSIZE);
  return true;
}

result<std::optional<reply>> greeting::hear() {
  std::array<char, 16384> chunk;
  for (;;) {
    const ssize_t got = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::optional<reply>();
    if (got < 0 && errno != ECONNRESET) return broken(peer_, "asking", errno);
    if (got <= 0) return broken(peer_, "the server closed the connection");
    reader_.feed({chunk.data(), static_cast<std::size_t>(got)});
    auto replies = reader_.take();
    if (!replies) return broken(peer_, replies.error().detail);
    if (replies->size() > 1) return broken(peer_, "it answers what nobody asked");
    if (!replies->empty()) return std::optional(std::move(replies->front()));
  }
}

/// True: nothing is left to ask.
result<bool> greeting::take_in(const reply& said) {
  if (at_ == stage::settings) return read_settings(said);
  if (at_ == stage::login) return read_login(said);
  return read_start(said);
}

result<bool> greeting::read_settings(const reply& said) {
  if (said.kind == reply::what::error) {
    // Only one that asks for it is told the password: for any other the login is an item like any, for all to read.
    if (!login_.empty() && !logged_in_ && said.text.find("unauthenticated") != std::string::npos) {
      auto told = say("set holdfast 0 0 " + std::to_string(login_.size()) + "\r\n" + login_ + "\r\n", stage::login);
      if (!told) return told;
      return false;
    }
    auto why = failure_of(said.text);
    why.detail = "memcached " + peer_ + ": " + why.detail;
    return why;
  }
  if (said.stat("cas_enabled") == "no")
    return failure{errc::unsupported, "memcached " + peer_ +
                                          ": the server was started without versions of items (-C), so that locks "
                                          "cannot be released safely; start it without -C"};
  auto told = say("stats\r\n", stage::start);
  if (!told) return told;
  return false;
}

/// Such a server is told an item whose value is the user and the password, under any key.
result<bool> greeting::read_login(const reply& said) {
  if (!said.is("STORED")) {
    // Not a word of the server's: it may quote what was sent.
    const bool knows = said.text.find("authentication") != std::string::npos;
    return failure{errc::rejected, "memcached " + peer_ +
                                       (knows ? ": the server does not know this user and password"
                                              : ": the server refused the user and password")};
  }
  logged_in_ = true;
  auto told = say("stats settings\r\n", stage::settings);
  if (!told) return told;
  return false;
}

result<bool> greeting::read_start(const reply& said) {
  const auto time = number(said.stat("time"));
  const auto uptime = number(said.stat("uptime"));
  if (time == 0 || uptime == 0 || uptime > time) return broken(peer_, "this is no memcached");
  if (too_old(said.stat("version")))
    return failure{errc::unsupported, "memcached " + peer_ + ": version " + std::string(said.stat("version")) +
                                          " is too old; 1.6.10 is needed"};
  const endpoint& there = to_[next_ - 1];
  const std::string_view bytes(reinterpret_cast<const char*>(&there.to), there.size);
  const std::hash<std::string> hash;
  era_ = server_life::era(time - uptime, hash(std::string(said.stat("pid")) + "@" + std::string(bytes)));
  // It counts from two, and by whole seconds: in its first one it could be killed, and followed by another with the
  // same start.
  if (uptime >= 3) return true;
  at_ = stage::too_young;
  look_again_ = steady::now() + 50ms;
  return false;
}

}  // namespace holdfast::memcached
