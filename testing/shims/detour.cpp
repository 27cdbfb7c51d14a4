// Preloaded into a process, sends its connections by another way: $HOLDFAST_DETOUR is `port=other,port=other...`, and
// whoever is to be reached on `port` of this machine is asked for on `other`.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

std::uint16_t way_to(std::uint16_t port) noexcept {
  const char* at = std::getenv("HOLDFAST_DETOUR");
  while (at != nullptr && *at != '\0') {
    char* end = nullptr;
    const auto from = std::strtoul(at, &end, 10);
    if (*end != '=') return port;
    const auto to = std::strtoul(end + 1, &end, 10);
    if (from == port) return static_cast<std::uint16_t>(to);
    at = *end == ',' ? end + 1 : nullptr;
  }
  return port;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int connect(int socket, const sockaddr* to, socklen_t size) {
  sockaddr_storage other{};
  std::memcpy(&other, to, size < sizeof other ? size : sizeof other);
  // The port is at the same place in both.
  if (other.ss_family == AF_INET || other.ss_family == AF_INET6) {
    auto* const address = reinterpret_cast<sockaddr_in*>(&other);
    address->sin_port = htons(way_to(ntohs(address->sin_port)));
    to = reinterpret_cast<const sockaddr*>(&other);
  }
  return static_cast<int>(::syscall(SYS_connect, socket, to, size));
}
