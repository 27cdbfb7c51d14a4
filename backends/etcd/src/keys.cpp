#include "keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::etcd {

namespace {

constexpr std::size_t stamp_digits = 19;  // nanoseconds since 1970, from 2001 to 2286

bool is_stamp(std::string_view text) {
  return text.size() == stamp_digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

key_range everything_below(const std::string& prefix) {
  std::string end = prefix;
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  // One zero byte: to the end of all keys. As a first key, the first there can be.
  if (end.empty()) return {prefix.empty() ? std::string(1, '\0') : prefix, std::string(1, '\0')};
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {prefix, end};
}

std::string hex(std::int64_t lease) {
  std::array<char, 17> text{};
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), lease, 16);
  return {text.data(), end};
}

std::string keys::mutex(const std::string& name, std::int64_t lease, unsigned which) const {
  std::string key = line(name) + hex(lease);
  if (which > 0) key += "-" + std::to_string(which + 1);
  return key;
}

std::string keys::reader(const std::string& name, std::uint64_t number) const {
  return line(name) + "read/" + std::to_string(number);
}

std::string keys::writer(const std::string& name, std::uint64_t number) const {
  return line(name) + "write/" + std::to_string(number);
}

std::string keys::number(const std::string& name, spi::kind k) const {
  return others(name) + (k == spi::kind::latch ? "latch" : "semaphore");
}

keys::form keys::form_of(const std::string& name, std::string_view key) const {
  const std::string_view rest = key.substr(std::min(key.size(), line(name).size()));
  if (rest.find('/') == rest.npos) return form::mutex;
  if (rest.starts_with("read/") && is_stamp(rest.substr(5))) return form::reader;
  if (rest.starts_with("write/") && is_stamp(rest.substr(6))) return form::writer;
  return form::nested;
}

std::optional<keys::place> keys::place_of(std::string_view key, std::int64_t lease) const {
  if (lease == 0 || !key.starts_with(before_)) return std::nullopt;
  key.remove_prefix(before_.size());
  const auto slash = key.rfind('/');
  if (slash == key.npos || slash == 0) return std::nullopt;
  const std::string_view name = key.substr(0, slash);
  const std::string_view last = key.substr(slash + 1);
  const std::string owner = hex(lease);
  if (last == owner || (last.starts_with(owner) && last.substr(owner.size()).starts_with('-')))
    return place{std::string(name), form::mutex};
  if (!is_stamp(last)) return std::nullopt;
  for (const auto& [ending, what] : {std::pair("/read", form::reader), std::pair("/write", form::writer)}) {
    const std::string_view word = ending;
    if (name.ends_with(word) && name.size() > word.size())
      return place{std::string(name.substr(0, name.size() - word.size())), what};
  }
  return std::nullopt;
}

std::optional<keys::other_place> keys::other_place_of(std::string_view key) const {
  const std::string start = before_ + "holdfast:";
  if (!key.starts_with(start)) return std::nullopt;
  key.remove_prefix(start.size());
  const auto tab = key.find('\t');
  if (tab == key.npos) return std::nullopt;
  return other_place{std::string(key.substr(0, tab)), std::string(key.substr(tab + 1))};
}

std::optional<spi::kind> kind_of_other(std::string_view what, std::string_view value) {
  if (what == "latch") return spi::kind::latch;
  if (what == "semaphore") return spi::kind::semaphore;
  if (what.starts_with("permit\t")) return spi::kind::permits;
  // Who waits says what for: its limit is that of permits, or none.
  if (what.starts_with("wait\t"))
    return value.find("\tlimit=0\t") == value.npos ? spi::kind::permits : spi::kind::semaphore;
  return std::nullopt;
}

}  // namespace holdfast::etcd
