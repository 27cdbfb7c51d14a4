#include "keys.hpp"

#include <array>
#include <cstdint>

namespace holdfast::memcached {

namespace {

constexpr std::size_t longest_key = 250;  // the server's limit

__extension__ using wide = unsigned __int128;

/// FNV-1a of 128 bits. Not for secrets: two names that were made to collide refuse each other.
wide hash(std::string_view text) {
  constexpr wide prime = (static_cast<wide>(1) << 88) + 0x13b;
  wide sum = (static_cast<wide>(0x6c62272e07bb0142) << 64) + 0x62b821756295c58d;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * prime;
  return sum;
}

std::string hex(wide number) {
  std::string text(32, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4)
    text[i] = "0123456789abcdef"[static_cast<unsigned>(number) & 15U];
  return text;
}

/// FNV changes its high bits little where only the last bytes differ: stirred, all of them count.
std::uint64_t stirred(wide number) {
  auto x = static_cast<std::uint64_t>(number >> 64) ^ static_cast<std::uint64_t>(number);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::string shortened(std::string_view kind, std::string_view name, std::size_t room) {
  std::string key(kind);
  for (const char c : name) {
    if (c == ' ')
      key += "%20";
    else if (c == '%')
      key += "%25";
    else
      key += c;
  }
  if (key.size() <= room) return key;
  // No escaped name has a percent sign followed by this.
  key.resize(room - 34);
  return key + "%#" + hex(hash(name));
}

}  // namespace

std::string key_of(std::string_view kind, std::string_view name) { return shortened(kind, name, longest_key); }

std::string waiter_key(std::string_view name, const spi::owner_id& id) {
  return shortened(wait_keys, name, longest_key - 33) + "#" + id.hex();
}

std::size_t server_of(std::string_view name, const std::vector<address>& servers) {
  std::size_t best = 0;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto weight = stirred(hash(servers[i].shown() + "\n" + std::string(name)));
    if (i != 0 && weight < highest) continue;
    highest = weight;
    best = i;
  }
  return best;
}

}  // namespace holdfast::memcached
