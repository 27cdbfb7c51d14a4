#include "doctor.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace holdfast::zookeeper {

namespace {

/// Connected, or -1.
int dial(const std::string& host, const std::string& port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  const timeval patience{1, 0};
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int fd = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (fd < 0) continue;
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd, one->ai_addr, one->ai_addrlen) == 0) return fd;
    ::close(fd);
  }
  return -1;
}

}  // namespace

std::optional<std::string> ask_server(const std::string& address, std::string_view word) {
  const auto colon = address.rfind(':');
  if (colon == address.npos) return std::nullopt;
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const int fd = dial(host, address.substr(colon + 1));
  if (fd < 0) return std::nullopt;
  std::string said;
  if (::send(fd, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
    std::array<char, 4096> buffer;
    for (ssize_t got = 0; (got = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0 && said.size() < 65536;)
      said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  if (said.empty() || said.find("is not executed because") != said.npos) return std::nullopt;
  return said;
}

}  // namespace holdfast::zookeeper
