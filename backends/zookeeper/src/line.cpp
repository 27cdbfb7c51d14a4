#include "line.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::zookeeper {

namespace {

struct marker {
  std::string_view text;
  family kind;
  spi::access access;
};
// `lock-` last of all that have "lock" in them: names are told by the mark right before the number.
constexpr std::array markers{
    marker{"__READ__", family::read_write, spi::access::shared},
    marker{"__WRIT__", family::read_write, spi::access::exclusive},
    marker{"__rlock__", family::kazoo, spi::access::shared},
    marker{"__lock__", family::kazoo, spi::access::exclusive},
    marker{"lock-", family::lock, spi::access::exclusive},
    marker{"lease-", family::lease, spi::access::shared},
    marker{"latch-", family::latch, spi::access::exclusive},
};

constexpr std::size_t uuid_length = 36;
constexpr std::string_view protected_mark = "_c_";
// Warn this long before the last sequence number.
constexpr std::int64_t last_sequence = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t spare_sequences = std::int64_t{1} << 24;

/// `%010d` of a 32-bit number, which goes below zero after the last.
std::optional<std::int64_t> sequence_in(std::string_view text) {
  if (text.size() < 10 || text.size() > 11) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool before(const contender& a, const contender& b) noexcept {
  if (a.sequence != b.sequence) return a.sequence < b.sequence;
  // A writer and the reader it becomes have one number.
  return a.access == spi::access::exclusive && b.access == spi::access::shared;
}

}  // namespace

const char* to_string(family f) noexcept {
  switch (f) {
    case family::lock:
      return "mutex";
    case family::read_write:
      return "shared_mutex";
    case family::lease:
      return "permit_semaphore";
    case family::latch:
      return "Curator leader latch";
    case family::kazoo:
      return "kazoo lock";
    case family::recipe:
      return "lock of ZooKeeper's own recipe";
  }
  return "lock";
}

std::optional<contender> contender::parse(std::string_view child) {
  for (const auto& m : markers) {
    const auto at = child.rfind(m.text);
    if (at == child.npos) continue;
    if (const auto number = sequence_in(child.substr(at + m.text.size())))
      return contender{std::string(child), m.kind, m.access, *number};
  }
  if (!child.starts_with("x-")) return std::nullopt;
  const auto dash = child.find('-', 2);
  if (dash == child.npos || dash == 2) return std::nullopt;
  const auto number = sequence_in(child.substr(dash + 1));
  if (!number) return std::nullopt;
  return contender{std::string(child), family::recipe, spi::access::exclusive, *number};
}

std::string protection(const spi::owner_id& id) {
  std::string hex = id.hex();
  for (const std::size_t at : {20u, 16u, 12u, 8u}) hex.insert(at, "-");
  return std::string(protected_mark) + hex + "-";
}

std::optional<spi::owner_id> owner_in(std::string_view node) {
  if (!node.starts_with(protected_mark) || node.size() <= protected_mark.size() + uuid_length) return std::nullopt;
  std::string hex(node.substr(protected_mark.size(), uuid_length));
  std::erase(hex, '-');
  spi::owner_id id;
  if (hex.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const char* const pair = hex.data() + 2 * i;
    const auto [end, failed] = std::from_chars(pair, pair + 2, id.bytes[i], 16);
    if (failed != std::errc() || end != pair + 2) return std::nullopt;
  }
  return id;
}

std::vector<contender> line_of(const std::vector<std::string>& children, family f) {
  std::vector<contender> line;
  for (const auto& child : children)
    if (auto one = contender::parse(child); one && one->kind == f) line.push_back(std::move(*one));
  std::sort(line.begin(), line.end(), before);
  return line;
}

std::size_t holding(const std::vector<contender>& line) {
  if (line.empty()) return 0;
  if (line.front().access == spi::access::exclusive) return 1;
  const auto writer =
      std::find_if(line.begin(), line.end(), [](const contender& c) { return c.access == spi::access::exclusive; });
  return static_cast<std::size_t>(writer - line.begin());
}

verdict judge(const std::vector<std::string>& children, std::string_view own) {
  const auto self = contender::parse(own);
  if (!self || std::find(children.begin(), children.end(), own) == children.end()) return {};
  const auto id = owner_in(own);
  std::optional<contender> nearest;
  bool several = false;
  verdict found{.what = verdict::is::holding};
  found.nearly_overflown = self->sequence > last_sequence - spare_sequences;
  if (self->sequence < 0) return {.what = verdict::is::overflow, .who = std::string(own)};
  for (const auto& child : children) {
    auto other = contender::parse(child);
    // Two nodes of one claim: a writer that is becoming a reader, or the other way.
    if (!other || child == own || (id && owner_in(child) == id)) continue;
    if (other->sequence < 0) return {.what = verdict::is::overflow, .who = child};
    if (other->sequence >= self->sequence) continue;
    // Whoever came later finds us, and refuses.
    if (other->kind != self->kind) return {.what = verdict::is::mixed, .who = child};
    if (self->access == spi::access::shared && other->access == spi::access::shared) continue;
    several = several || nearest.has_value();
    if (!nearest || before(*nearest, *other)) nearest = std::move(other);
  }
  if (!nearest) return found;
  found.what = verdict::is::waiting;
  found.who = nearest->name;
  found.next = !several && self->kind == family::lock;
  return found;
}

}  // namespace holdfast::zookeeper
