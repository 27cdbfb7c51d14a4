#include "dial.hpp"

#include "greeting.hpp"
#include "sentinel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>

namespace holdfast::redis {

result<line> dial(const settings& where, const std::string& client_name, std::chrono::nanoseconds limit) {
  limit = std::min<std::chrono::nanoseconds>(limit, std::chrono::hours(1));
  auto made = where.whom == settings::role::server   ? greet(where, client_name, steady::now() + limit)
              : where.whom == settings::role::master ? dial_master(where, client_name, limit)
                                                     : dial_sentinel(where, limit);
  if (!made) return made;
  // From here on whoever reads decides whether to block.
  const int flags = ::fcntl(made->fd.get(), F_GETFL);
  ::fcntl(made->fd.get(), F_SETFL, flags & ~O_NONBLOCK);
  return made;
}

void set_receive_timeout(int fd, std::chrono::nanoseconds limit) noexcept {
  const auto micros = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(limit).count(), 1);
  timeval time{};
  time.tv_sec = micros / 1'000'000;
  time.tv_usec = micros % 1'000'000;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

}  // namespace holdfast::redis
