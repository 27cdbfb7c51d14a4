#include "reach.hpp"

#include "redis_error.hpp"

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
#include <optional>
#include <utility>

namespace holdfast::redis {

namespace {

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
  if (!fd) return broken(where.address(), "socket", errno);
  if (const int error = connect_socket(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address, deadline))
    return broken(where.address(), "cannot connect", error);
  return fd;
}

result<descriptor> connect_tcp(const settings& where, steady::time_point deadline) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(where.host.c_str(), where.port.c_str(), &wanted, &found))
    return broken(where.address(), std::string("no such host: ") + ::gai_strerror(error));
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
  return broken(where.address(), "cannot connect", error);
}

/// Sends it all; 0, or the number of the error.
int transmit(int fd, std::string_view bytes, steady::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (const int error = await(fd, POLLOUT, deadline)) return error;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

using buffer = std::array<char, 16384>;

/// What comes next; empty: the other end has closed, politely or not.
result<std::string_view> receive(const line& from, buffer& into, std::string_view during, steady::time_point deadline) {
  for (;;) {
    if (const int error = await(from.fd.get(), POLLIN, deadline)) return broken(from.peer, during, error);
    const ssize_t got = ::recv(from.fd.get(), into.data(), into.size(), 0);
    if (got >= 0) return std::string_view(into.data(), static_cast<std::size_t>(got));
    if (errno == ECONNRESET) return std::string_view();
    if (errno != EAGAIN && errno != EINTR) return broken(from.peer, during, errno);
  }
}

failure named(const line& whom, failure why) {
  why.detail = "redis " + whom.peer + ": " + why.detail;
  return why;
}

result<void> secure(line& made, const settings& where, steady::time_point deadline) {
  auto session = tls_session::make(*where.tls, where.host);
  if (!session) return named(made, session.error());
  made.tls = std::move(*session);
  buffer chunk;
  std::string_view received;
  for (;;) {
    const auto done = made.tls->shake_hands(received);
    // Also when it failed: then it is why, for the server's log.
    const int error = transmit(made.fd.get(), made.tls->owed(), deadline);
    if (!done) return named(made, done.error());
    if (error != 0) return broken(made.peer, "TLS handshake", error);
    if (*done) return {};
    // A plain Redis takes the first message for half a command, and waits for the rest of it.
    auto more = receive(made, chunk, "TLS handshake (does the server speak TLS on this port?)", deadline);
    if (!more) return more.error();
    if (more->empty()) return broken(made.peer, "the server closed the connection during the TLS handshake");
    received = *more;
  }
}

/// A server that wants TLS hangs up on who speaks plainly.
failure greeting_failed(const line& whom, std::string_view why) {
  const bool plain = !whom.tls && !whom.peer.starts_with('/');
  return broken(whom.peer, "greeting: " + std::string(why) + (plain ? " (does it want TLS? write rediss:)" : ""));
}

}  // namespace

result<line> reach(const settings& where, steady::time_point deadline) {
  auto fd = where.socket.empty() ? connect_tcp(where, deadline) : connect_unix(where, deadline);
  if (!fd) return fd.error();
  line made;
  made.fd = std::move(*fd);
  made.peer = where.address();
  if (!where.tls) return made;
  if (auto good = secure(made, where, deadline); !good) return good.error();
  return made;
}

result<std::vector<reply>> ask(const line& whom, const std::string& commands, std::size_t count,
                               steady::time_point deadline) {
  // Who closed the connection may have said why before: so it is read all the same.
  const int unsent = transmit(whom.fd.get(), whom.seal(commands), deadline);
  reply_reader reader;
  std::vector<reply> all;
  buffer chunk;
  while (all.size() < count) {
    auto bytes = receive(whom, chunk, "greeting", deadline);
    if ((!bytes || bytes->empty()) && !all.empty()) return all;
    if (!bytes) return unsent == 0 ? bytes.error() : broken(whom.peer, "greeting", unsent);
    if (bytes->empty()) return greeting_failed(whom, "the server closed the connection");
    auto text = whom.open(*bytes);
    if (!text) return named(whom, text.error());
    reader.feed(*text);
    auto replies = reader.take();
    if (!replies) return greeting_failed(whom, replies.error().detail);
    for (reply& r : *replies) all.push_back(std::move(r));
    if (whom.ended() && all.empty()) return greeting_failed(whom, "the server closed the connection");
    if (whom.ended()) return all;
  }
  return all;
}

}  // namespace holdfast::redis
