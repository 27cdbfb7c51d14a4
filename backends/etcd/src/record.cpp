#include "record.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::etcd {

namespace {

constexpr std::string_view mark = "holdfast";

template <class Number>
bool read(std::string_view text, Number& out) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failed == std::errc() && end == text.data() + text.size();
}

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

bool read_field(std::string_view name, std::string_view value, record& out) {
  std::int64_t number = 0;
  if (name == "id") return out.id = value, value.size() == 32;
  if (name == "permits") return read(value, out.permits);
  if (name == "limit") return read(value, out.limit);
  if (name == "token") return read(value, out.token);
  if (name == "pid") return read(value, out.pid);
  if (name == "host") return out.host = value, true;
  if (name == "name") return out.client_name = value, true;
  if (name == "ttl") return read(value, number) && (out.ttl = std::chrono::milliseconds(number), true);
  if (name == "since") {
    return read(value, number) &&
           (out.since = std::chrono::system_clock::time_point(std::chrono::milliseconds(number)), true);
  }
  return true;  // of a newer version
}

}  // namespace

record record::of(const spi::claim& claim, const spi::identity& who) {
  record made;
  made.id = claim.id.hex();
  made.permits = claim.permits;
  made.limit = claim.kind == spi::kind::semaphore ? 0 : claim.limit;
  made.ttl = std::chrono::duration_cast<std::chrono::milliseconds>(claim.ttl);
  made.since = std::chrono::system_clock::now();
  made.pid = who.pid;
  made.host = who.host;
  made.client_name = who.client_name;
  return made;
}

std::string record::text() const {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since.time_since_epoch());
  return std::string(mark) + "\tid=" + id + "\tlimit=" + std::to_string(limit) +
         "\tpermits=" + std::to_string(permits) + "\tttl=" + std::to_string(ttl.count()) +
         "\ttoken=" + std::to_string(token) + "\tsince=" + std::to_string(milliseconds.count()) +
         "\tpid=" + std::to_string(pid) + "\thost=" + printable(host) + "\tname=" + printable(client_name);
}

std::optional<record> record::parse(std::string_view text) {
  if (!text.starts_with(mark)) return std::nullopt;
  text.remove_prefix(mark.size());
  record found;
  while (!text.empty()) {
    if (text.front() != '\t') return std::nullopt;
    text.remove_prefix(1);
    const auto field = text.substr(0, text.find('\t'));
    text.remove_prefix(field.size());
    const auto equals = field.find('=');
    if (equals == field.npos || !read_field(field.substr(0, equals), field.substr(equals + 1), found))
      return std::nullopt;
  }
  if (found.id.empty()) return std::nullopt;
  return found;
}

}  // namespace holdfast::etcd
