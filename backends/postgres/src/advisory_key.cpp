#include "advisory_key.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>

namespace holdfast::postgres {

namespace {

constexpr std::size_t longest_ascii = 9;

advisory_key pair_of(std::uint64_t bits) {
  return {advisory_key::form::pair, static_cast<std::int32_t>(bits >> 32), static_cast<std::int32_t>(bits)};
}

std::optional<advisory_key> ascii_key(std::string_view name) {
  if (name.size() > longest_ascii) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) > 127) return std::nullopt;
    bits = bits << 7 | static_cast<unsigned char>(c);
  }
  // What is left of the 64: a zero, then ones.
  const unsigned left = 64 - 7 * static_cast<unsigned>(name.size());
  const std::uint64_t ones = (std::uint64_t{1} << (left - 1)) - 1;
  return pair_of(left == 64 ? ones : (bits << left | ones));
}

std::optional<std::uint64_t> hex(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (wrong != std::errc() || end != digits.data() + digits.size() || digits.starts_with('-')) return std::nullopt;
  return value;
}

std::optional<advisory_key> hex_key(std::string_view name) {
  if (name.size() == 16)
    if (const auto number = hex(name))
      return advisory_key{advisory_key::form::number, static_cast<std::int64_t>(*number), 0};
  if (name.size() != 17 || name[8] != ',') return std::nullopt;
  const auto first = hex(name.substr(0, 8));
  const auto second = hex(name.substr(9));
  if (!first || !second) return std::nullopt;
  return pair_of(*first << 32 | *second);
}

using words = std::array<std::uint32_t, 5>;

void digest(words& state, const unsigned char* block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
           std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = b ^ c ^ d;
    std::uint32_t k = i < 40 ? 0x6ed9eba1 : 0xca62c1d6;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999;
    } else if (i >= 40 && i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdc;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const words add{a, b, c, d, e};
  for (std::size_t i = 0; i < 5; ++i) state[i] += add[i];
}

}  // namespace

std::string sha1(std::string_view text) {
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  words state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t at = 0; at < padded.size(); at += 64)
    digest(state, reinterpret_cast<const unsigned char*>(padded.data() + at));
  std::string out;
  for (const std::uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift);
  return out;
}

std::string advisory_key::text() const {
  return std::to_string(static_cast<std::int64_t>(is)) + ":" + std::to_string(high) + ":" + std::to_string(low);
}

advisory_key key_of(std::string_view name) {
  if (const auto short_one = ascii_key(name)) return *short_one;
  if (const auto written = hex_key(name)) return *written;
  const std::string hash = sha1(name);
  std::uint64_t number = 0;
  for (std::size_t i = 8; i-- > 0;) number = number << 8 | static_cast<unsigned char>(hash[i]);
  return {advisory_key::form::number, static_cast<std::int64_t>(number), 0};
}

}  // namespace holdfast::postgres
