#include "message.hpp"

#include <cstring>

namespace holdfast::sqlite {

std::vector<message> parse(std::span<const std::byte> datagram) {
  std::vector<message> found;
  if (datagram.empty() || datagram.size() % sizeof(message) != 0) return found;
  found.resize(datagram.size() / sizeof(message));
  std::memcpy(found.data(), datagram.data(), datagram.size());
  for (const message& m : found) {
    if (m.what < message::kind::granted || m.what > message::kind::next) return {};
  }
  return found;
}

}  // namespace holdfast::sqlite
