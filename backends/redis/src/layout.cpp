#include "layout.hpp"

#include "keys.hpp"

namespace holdfast::redis {

namespace {

/// A lock's own key. (Keys of ours are none, whatever they look like.)
std::optional<std::string> itself(std::string_view key) {
  if (key.starts_with("holdfast_")) return std::nullopt;
  return std::string(key);
}

}  // namespace

layout::layout(const settings& where)
    : kind_(where.layout),
      prefix_(where.prefix),
      in_cluster_(!where.seeds.empty()),
      scripts_(kind_ == key_layout::plain ? scripts::of_plain_layout() : scripts::all()) {}

spi::capabilities layout::supports() const noexcept {
  if (kind_ == key_layout::redisson) return {true, true, true, true, true, true, true, true, true};
  return {.mutex = true, .cell = true, .fence = true, .raise_token = true};
}

std::vector<std::string> layout::keys(const std::string& name) const {
  // Every word costs the server time. But while a slot moves, a cluster sees to it that all keys it is told of are
  // there.
  if (kind_ == key_layout::redisson) return in_cluster_ ? lock_keys(name) : std::vector<std::string>{name};
  const std::string key = prefix_ + name;
  std::vector<std::string> all{key};
  for (const char* what : {"plain_held", "plain_wait", "plain_line", "plain_token", "plain_turn"})
    all.push_back(own_key(what, key));
  return all;
}

std::vector<std::string> layout::renewed_keys(const std::string& name) const {
  if (kind_ == key_layout::redisson) return {name, own_key("last", name)};
  return {prefix_ + name, own_key("plain_held", prefix_ + name)};
}

std::optional<std::string> layout::name_of(std::string_view lock_key) const {
  if (!lock_key.starts_with(prefix_) || lock_key.size() == prefix_.size()) return std::nullopt;
  return std::string(lock_key.substr(prefix_.size()));
}

std::vector<layout::trail> layout::trails(const std::string& prefix) const {
  const bool plain = kind_ == key_layout::plain;
  const std::string start = prefix_ + prefix;
  std::vector<trail> all;
  for (auto& pattern : own_key_patterns(plain ? "plain_wait" : "[hw][ea][li][dt]", start))
    all.push_back({std::move(pattern), "", redis::name_of});
  all.push_back({name_pattern(start), plain ? "string" : "hash", itself});
  return all;
}

}  // namespace holdfast::redis
