#include "dial.hpp"

#include "redis_error.hpp"
#include "reply.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace holdfast::redis {

namespace {

using steady = std::chrono::steady_clock;

int milliseconds_until(steady::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

/// Waits until the socket is `ready`; 0, or the number of the error.
int await(int fd, short ready, steady::time_point deadline) {
  pollfd watched{fd, ready, 0};
  for (;;) {
    const int count = ::poll(&watched, 1, milliseconds_until(deadline));
    if (count > 0) return 0;
    if (count == 0) return ETIMEDOUT;
    if (errno != EINTR) return errno;
  }
}

int connect_socket(int fd, const sockaddr* address, socklen_t size, steady::time_point deadline) {
  if (::connect(fd, address, size) == 0) return 0;
  if (errno != EINPROGRESS && errno != EAGAIN) return errno;
  if (const int error = await(fd, POLLOUT, deadline)) return error;
  int outcome = 0;
  socklen_t length = sizeof outcome;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &outcome, &length);
  return outcome;
}

result<descriptor> connect_unix(const settings& where, steady::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, where.socket.c_str(), std::min(where.socket.size() + 1, sizeof address.sun_path));
  descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return broken(where.shown(), "socket", errno);
  if (const int error = connect_socket(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address, deadline))
    return broken(where.shown(), "cannot connect", error);
  return fd;
}

result<descriptor> connect_tcp(const settings& where, steady::time_point deadline) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(where.host.c_str(), where.port.c_str(), &wanted, &found))
    return broken(where.shown(), std::string("no such host: ") + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    descriptor fd(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) {
      error = errno;
      continue;
    }
    error = connect_socket(fd.get(), a->ai_addr, a->ai_addrlen, deadline);
    if (error != 0) continue;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return fd;
  }
  return broken(where.shown(), "cannot connect", error);
}

/// Redis takes no spaces and nothing unprintable.
std::string printable(const std::string& name) {
  std::string out = "holdfast";
  if (!name.empty()) out += ':';
  for (const char c : name) out += c > ' ' && c < 0x7f ? c : '_';
  return out;
}

struct greeting {
  std::string bytes;
  std::size_t replies = 0;
  bool secret = false;         ///< The first reply is to AUTH.
  std::size_t courtesies = 1;  ///< So many at the end may be refused: a user without the right may lock all the same.
};

greeting greet(const settings& where, const std::string& client_name, const introduction* about) {
  greeting out;
  const auto add = [&](const std::vector<std::string_view>& words) {
    append_command(out.bytes, words);
    ++out.replies;
  };
  if (!where.user.empty())
    add({"AUTH", where.user, where.password});
  else if (!where.password.empty())
    add({"AUTH", where.password});
  out.secret = out.replies != 0;
  const std::string name = printable(client_name);
  const std::string number = std::to_string(where.database);
  if (where.database != 0) add({"SELECT", number});
  add({"CLIENT", "SETNAME", name});
  if (about != nullptr) {
    add({"INFO"});
    add({"CONFIG", "GET", "appendfsync"});
    out.courtesies += 2;
  }
  return out;
}

result<void> exchange(const descriptor& fd, const settings& where, const greeting& hello, introduction* about,
                      steady::time_point deadline) {
  std::string_view left = hello.bytes;
  while (!left.empty()) {
    const ssize_t sent = ::send(fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      left.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (const int error = await(fd.get(), POLLOUT, deadline)) return broken(where.shown(), "greeting", error);
    } else if (errno != EINTR) {
      return broken(where.shown(), "greeting", errno);
    }
  }
  reply_reader reader;
  std::array<char, 4096> chunk{};
  for (std::size_t answered = 0; answered < hello.replies;) {
    if (const int error = await(fd.get(), POLLIN, deadline)) return broken(where.shown(), "greeting", error);
    const ssize_t got = ::recv(fd.get(), chunk.data(), chunk.size(), 0);
    if (got == 0) return broken(where.shown(), "the server closed the connection while it was being greeted");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return broken(where.shown(), "greeting", errno);
    if (got < 0) continue;
    reader.feed({chunk.data(), static_cast<std::size_t>(got)});
    auto replies = reader.take();
    if (!replies) return broken(where.shown(), replies.error().detail);
    for (const reply& r : *replies) {
      ++answered;
      if (about != nullptr && answered + 1 == hello.replies && !r.is_error()) about->info = r.text();
      if (about != nullptr && answered == hello.replies && !r.is_error()) about->fsync = r.at(1).text();
      if (!r.is_error()) continue;
      failure why = hello.secret && answered == 1 ? failure_of_auth(r.text()) : failure_of(r.text());
      why.detail = "redis " + where.shown() + ": " + why.detail;
      if (answered > hello.replies - hello.courtesies && r.text().starts_with("NOPERM")) continue;
      return why;
    }
  }
  return {};
}

}  // namespace

result<descriptor> dial(const settings& where, const std::string& client_name, std::chrono::nanoseconds limit,
                        introduction* about) {
  const auto deadline = steady::now() + std::min<std::chrono::nanoseconds>(limit, std::chrono::hours(1));
  auto fd = where.socket.empty() ? connect_tcp(where, deadline) : connect_unix(where, deadline);
  if (!fd) return fd;
  if (auto good = exchange(*fd, where, greet(where, client_name, about), about, deadline); !good) return good.error();
  // From here on whoever reads decides whether to block.
  const int flags = ::fcntl(fd->get(), F_GETFL);
  ::fcntl(fd->get(), F_SETFL, flags & ~O_NONBLOCK);
  return fd;
}

void set_receive_timeout(int fd, std::chrono::nanoseconds limit) noexcept {
  const auto micros = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(limit).count(), 1);
  timeval time{};
  time.tv_sec = micros / 1'000'000;
  time.tv_usec = micros % 1'000'000;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

}  // namespace holdfast::redis
