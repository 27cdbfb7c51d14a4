#include "keys.hpp"

#include "slots.hpp"

#include <cstring>

namespace holdfast::redis {

namespace {

/// Everything a glob reads differently, taken literally.
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string tag_of(const std::string& name) { return name.find('{') == std::string::npos ? "{" + name + "}" : name; }

bool keeps_its_slot(spi::kind k, std::string_view name) {
  if (name.find_first_of("{}") == name.npos) return true;
  const bool tagged = hashed_part(name).size() < name.size();
  return tagged && k != spi::kind::latch;
}

std::string own_key(std::string_view what, const std::string& name) {
  std::string key = "holdfast_";
  key += what;
  key += name.find('{') == std::string::npos ? ":" : "::";
  return key + tag_of(name);
}

std::vector<std::string> lock_keys(const std::string& name) {
  const std::string tag = tag_of(name);
  return {name,
          own_key("last", name),
          own_key("held", name),
          own_key("wait", name),
          own_key("line", name),
          "redisson_lock_token:" + tag,
          "redisson_lock_queue:" + tag,
          "redisson_lock_timeout:" + tag,
          tag + ":timeout",
          own_key("kind", name)};
}

std::optional<std::string> name_of(std::string_view key) {
  for (const std::string_view start : {"holdfast_held:", "holdfast_wait:", "holdfast_plain_wait:"}) {
    if (!key.starts_with(start)) continue;
    key.remove_prefix(start.size());
    if (key.starts_with(':')) return std::string(key.substr(1));
    if (key.size() < 2 || !key.starts_with('{') || !key.ends_with('}')) return std::nullopt;
    return std::string(key.substr(1, key.size() - 2));
  }
  return std::nullopt;
}

std::vector<std::string> own_key_patterns(std::string_view what, const std::string& prefix) {
  // A prefix without a brace may go on with one: both spellings.
  const std::string start = "holdfast_" + std::string(what);
  std::vector<std::string> all{start + "::" + literal(prefix) + "*"};
  if (prefix.find('{') == std::string::npos) all.push_back(start + ":{" + literal(prefix) + "*");
  return all;
}

std::string name_pattern(const std::string& prefix) { return literal(prefix) + "*"; }

char letter(spi::kind k) noexcept {
  switch (k) {
    case spi::kind::mutex:
      return 'm';
    case spi::kind::shared_mutex:
      return 's';
    case spi::kind::permits:
      return 'p';
    case spi::kind::semaphore:
      return 'c';
    case spi::kind::latch:
      return 'l';
  }
  return '?';
}

std::optional<spi::kind> kind_of(char letter_of_it) noexcept {
  for (const auto k :
       {spi::kind::mutex, spi::kind::shared_mutex, spi::kind::permits, spi::kind::semaphore, spi::kind::latch})
    if (letter(k) == letter_of_it) return k;
  return std::nullopt;
}

std::string public_channel(spi::kind k, const std::string& name) {
  switch (k) {
    case spi::kind::mutex:
      return "redisson_lock__channel:" + tag_of(name);
    case spi::kind::shared_mutex:
      return "redisson_rwlock:" + tag_of(name);
    case spi::kind::latch:
      return "redisson_countdownlatch__channel__{" + name + "}";
    default:
      return "redisson_sc:" + tag_of(name);
  }
}

std::string client_channel(const std::string& uuid) { return "holdfast_client:" + uuid; }

std::string fair_channel(const std::string& name, const std::string& owner) {
  return public_channel(spi::kind::mutex, name) + ":" + owner;
}

std::string presence_channel(const std::string& uuid) { return "holdfast_here:" + uuid; }

std::string fair_pattern(const std::string& uuid) { return "redisson_lock__channel:*:" + uuid + ":*"; }

std::string random_uuid() {
  auto id = spi::owner_id::random();
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | 0x40);  // version 4
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  std::string text = id.hex();
  for (const std::size_t at : {20U, 16U, 12U, 8U}) text.insert(at, 1, '-');
  return text;
}

std::string owner_of(const std::string& uuid, const spi::owner_id& id) {
  std::uint64_t number = 0;
  std::memcpy(&number, id.bytes.data(), sizeof number);
  return uuid + ":" + std::to_string(number >> 1);  // a positive 64-bit number, as a thread's id
}

}  // namespace holdfast::redis
