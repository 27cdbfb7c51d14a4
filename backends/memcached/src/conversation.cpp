#include "conversation.hpp"

#include "memcached_error.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace holdfast::memcached {

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

}  // namespace

result<void> complete(greeting& under_way) {
  for (;;) {
    auto done = under_way.step();
    if (!done) return done.error();
    if (*done) return {};
    under_way.wait();
  }
}

result<conversation> conversation::open(const address& with, const settings& as, steady::time_point deadline) {
  auto found = resolve(with);
  if (!found) return found.error();
  greeting first(with, as, std::move(*found), deadline);
  if (auto good = complete(first); !good) return good.error();
  return conversation(with.shown(), std::move(first));
}

result<std::vector<reply>> conversation::ask(std::string_view commands, std::size_t answers,
                                             steady::time_point deadline) {
  while (!commands.empty()) {
    const ssize_t sent = ::send(fd_.get(), commands.data(), commands.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      commands.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (const int error = await(fd_.get(), POLLOUT, deadline)) return broken(peer_, "asking", error);
    } else if (errno != EINTR) {
      break;  // why may be there to be read
    }
  }
  std::vector<reply> all;
  std::array<char, 16384> chunk;
  while (all.size() < answers) {
    if (const int error = await(fd_.get(), POLLIN, deadline)) return broken(peer_, "asking", error);
    const ssize_t got = ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0 && errno != ECONNRESET) return broken(peer_, "asking", errno);
    if (got <= 0) return broken(peer_, "the server closed the connection");
    reader_.feed({chunk.data(), static_cast<std::size_t>(got)});
    auto replies = reader_.take();
    if (!replies) return broken(peer_, replies.error().detail);
    for (auto& one : *replies) all.push_back(std::move(one));
  }
  if (all.size() > answers) return broken(peer_, "it answers what nobody asked");
  return all;
}

}  // namespace holdfast::memcached
