#include "channel.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace holdfast::cli {

std::pair<channel, channel> channel::make() {
  int ends[2];
  // Packets keep their borders, and unlike a pipe one descriptor serves both ways.
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a socket pair");
  }
  return {channel(unique_fd(ends[0])), channel(unique_fd(ends[1]))};
}

void channel::send(const message& text) noexcept {
  while (::send(fd_.get(), &text, sizeof text, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

std::optional<message> channel::receive() noexcept {
  message text;
  for (;;) {
    const ssize_t n = ::recv(fd_.get(), &text, sizeof text, MSG_DONTWAIT);
    if (n == static_cast<ssize_t>(sizeof text)) return text;
    if (n < 0 && errno == EINTR) continue;
    // An end that died with messages of ours unread gives ECONNRESET instead of the end of file.
    gone_ = n >= 0 || errno != EAGAIN;
    return std::nullopt;
  }
}

}  // namespace holdfast::cli
