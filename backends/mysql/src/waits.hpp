#pragma once

#include <mysql.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

// What the driver waits for, as poll() has it.

namespace holdfast::mysql {

inline short events_of(int waits) {
  int events = 0;
  if ((waits & MYSQL_WAIT_READ) != 0) events |= POLLIN;
  if ((waits & MYSQL_WAIT_WRITE) != 0) events |= POLLOUT;
  if ((waits & MYSQL_WAIT_EXCEPT) != 0) events |= POLLPRI;
  return static_cast<short>(events);
}

/// An end of the connection is something to read: the driver then finds it.
inline int waits_of(short events) {
  int waits = 0;
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) waits |= MYSQL_WAIT_READ;
  if ((events & (POLLOUT | POLLHUP | POLLERR)) != 0) waits |= MYSQL_WAIT_WRITE;
  if ((events & POLLPRI) != 0) waits |= MYSQL_WAIT_EXCEPT;
  return waits;
}

/// Those that came, or 0: not before the deadline.
inline short wait_for(int fd, short events, std::chrono::steady_clock::time_point deadline) noexcept {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd one{fd, events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
    if (ready > 0) return one.revents;
    if (ready == 0 && left <= 0) return 0;
    if (ready < 0 && errno != EINTR) return 0;
  }
}

}  // namespace holdfast::mysql
