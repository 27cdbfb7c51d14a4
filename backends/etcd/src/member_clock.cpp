#include "doctor.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <memory>

namespace holdfast::etcd {

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

std::optional<std::chrono::sys_seconds> date_in(std::string_view http) {
  constexpr std::string_view mark = "\r\nDate: ";
  const auto at = http.find(mark);
  if (at == http.npos) return std::nullopt;
  const std::string text(http.substr(at + mark.size(), http.find('\r', at + mark.size()) - at - mark.size()));
  std::tm parts{};
  const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

std::optional<std::chrono::sys_seconds> clock_of(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == address.npos) return std::nullopt;
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const int fd = dial(host, address.substr(colon + 1));
  if (fd < 0) return std::nullopt;
  const std::string request = "GET /version HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n";
  std::string said;
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> buffer;
    for (ssize_t got = 0; (got = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0 && said.size() < 65536;)
      said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return date_in(said);
}

}  // namespace holdfast::etcd
