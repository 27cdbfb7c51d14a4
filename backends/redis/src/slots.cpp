#include "slots.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {

namespace {

/// CRC16 of polynomial 0x1021, starting from 0, as XMODEM has it.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1) ^ 0x1021U : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

/// A node's name: its host, which may be missing or unknown, its port, its id and more about it.
node_address address_of(const reply& node, const node_address& asked) {
  std::string host(node.at(0).text());
  const reply more = node.at(3);
  for (std::size_t i = 0; host == "?" && i + 1 < more.size(); i += 2)
    if (more.at(i).text() == "ip") host = more.at(i + 1).text();
  if (host.empty() || host == "?") host = asked.host;
  return {std::move(host), std::to_string(node.at(1).integer())};
}

}  // namespace

std::string_view hashed_part(std::string_view key) {
  const auto open = key.find('{');
  if (open == key.npos) return key;
  const auto close = key.find('}', open);
  if (close == key.npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

slot slot_of(std::string_view key) {
  unsigned crc = 0;
  for (const char c : hashed_part(key))
    crc = ((crc << 8) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xffU]) & 0xffffU;
  return static_cast<slot>(crc % slot_count);
}

std::optional<node_address> node_address::from(std::string_view text, const node_address& asked) {
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon + 1 == text.size()) return std::nullopt;
  const auto port = text.substr(colon + 1);
  if (port.find_first_not_of("0123456789") != port.npos) return std::nullopt;
  const auto host = text.substr(0, colon);
  return node_address{host.empty() || host == "?" ? asked.host : std::string(host), std::string(port)};
}

std::string node_address::shown() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

std::optional<redirection> redirection::from(std::string_view error_reply, const node_address& asked) {
  redirection out;
  if (error_reply.starts_with("ASK ")) {
    out.what = kind::ask;
    error_reply.remove_prefix(4);
  } else if (error_reply.starts_with("MOVED ")) {
    error_reply.remove_prefix(6);
  } else {
    return std::nullopt;
  }
  const auto [end, failed] = std::from_chars(error_reply.data(), error_reply.data() + error_reply.size(), out.about);
  if (failed != std::errc() || out.about >= slot_count) return std::nullopt;
  error_reply.remove_prefix(static_cast<std::size_t>(end - error_reply.data()));
  if (!error_reply.starts_with(' ')) return std::nullopt;
  auto where = node_address::from(error_reply.substr(1), asked);
  if (!where) return std::nullopt;
  out.where = std::move(*where);
  return out;
}

result<slot_map> slot_map::from(const reply& said, const node_address& asked) {
  slot_map out;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const reply range = said.at(i);
    const auto first = range.at(0).integer();
    const auto last = range.at(1).integer();
    if (range.size() < 3 || first < 0 || last < first || last >= static_cast<std::int64_t>(slot_count) ||
        range.at(2).size() < 2)
      return {errc::unavailable, "redis " + asked.shown() + ": its list of slots makes no sense"};
    const auto owner = out.index_of(address_of(range.at(2), asked));
    std::fill(out.owners_.begin() + first, out.owners_.begin() + last + 1, owner);
  }
  return out;
}

const node_address* slot_map::master(slot s) const {
  const auto owner = owners_[s % slot_count];
  return owner == nobody ? nullptr : &masters_[owner];
}

void slot_map::move(slot s, const node_address& to) { owners_[s % slot_count] = index_of(to); }

std::optional<std::pair<slot, slot>> slot_map::gap() const {
  const auto first = std::find(owners_.begin(), owners_.end(), nobody);
  if (first == owners_.end()) return std::nullopt;
  const auto end = std::find_if(first, owners_.end(), [](auto owner) { return owner != nobody; });
  return std::pair(static_cast<slot>(first - owners_.begin()), static_cast<slot>(end - owners_.begin() - 1));
}

std::uint16_t slot_map::index_of(const node_address& node) {
  const auto index = std::find(masters_.begin(), masters_.end(), node) - masters_.begin();
  if (static_cast<std::size_t>(index) == masters_.size()) masters_.push_back(node);
  return static_cast<std::uint16_t>(index);
}

}  // namespace holdfast::redis
