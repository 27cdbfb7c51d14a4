#include "record.hpp"

#include <charconv>

namespace holdfast::memcached {

namespace {

constexpr std::string_view mark = "holdfast/1";
constexpr std::size_t id_digits = 32;

/// Lines and tabs are what separates.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return out;
}

/// Up to the separator, which must be there.
std::optional<std::string_view> cut(std::string_view& rest, char separator) {
  const auto at = rest.find(separator);
  if (at == rest.npos) return std::nullopt;
  const auto first = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return first;
}

template <class Number>
bool read(std::string_view& rest, Number& into, char separator = ' ') {
  const auto text = cut(rest, separator);
  if (!text) return false;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), into);
  return failed == std::errc() && end == text->data() + text->size();
}

/// Times, of which nothing overflows that is reckoned with them.
bool sane(std::int64_t time) { return time >= 0 && time <= std::int64_t{1} << 52; }
bool sane(const holder& one) {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // of seconds and milliseconds
  return one.permits > 0 && sane(one.ttl) && one.ttl <= most && sane(one.ends) && one.ends <= most && sane(one.since) &&
         sane(one.until);
}

bool read(std::string_view& rest, holder& into) {
  const auto id = cut(rest, ' ');
  if (!id || id->size() != id_digits) return false;
  into.id = *id;
  if (!read(rest, into.permits) || !read(rest, into.token) || !read(rest, into.ttl) || !read(rest, into.ends) ||
      !read(rest, into.since) || !read(rest, into.until) || !read(rest, into.pid, '\t') || !sane(into))
    return false;
  const auto host = cut(rest, '\t');
  const auto client = cut(rest, '\n');
  if (!host || !client) return false;
  into.host = *host;
  into.client_name = *client;
  return true;
}

}  // namespace

std::string record::encoded() const {
  std::string text(mark);
  const auto add = [&](auto number) { text += " " + std::to_string(number); };
  add(static_cast<int>(kind));
  add(limit);
  add(lifetime);
  text += "\n" + name + "\n";
  for (const auto& one : holders) {
    text += one.id;
    add(one.permits);
    add(one.token);
    add(one.ttl);
    add(one.ends);
    add(one.since);
    add(one.until);
    add(one.pid);
    text += "\t" + plain(one.host) + "\t" + plain(one.client_name) + "\n";
  }
  return text;
}

std::optional<record> record::decoded(std::string_view text) {
  record out;
  int kind = 0;
  if (const auto first = cut(text, ' '); first != mark) return std::nullopt;
  if (!read(text, kind) || !read(text, out.limit) || !read(text, out.lifetime, '\n')) return std::nullopt;
  if (!sane(out.lifetime)) return std::nullopt;
  if (kind != static_cast<int>(spi::kind::mutex) && kind != static_cast<int>(spi::kind::permits)) return std::nullopt;
  out.kind = static_cast<spi::kind>(kind);
  const auto name = cut(text, '\n');
  if (!name) return std::nullopt;
  out.name = *name;
  while (!text.empty()) {
    holder next;
    if (!read(text, next)) return std::nullopt;
    out.holders.push_back(std::move(next));
  }
  return out;
}

holder* record::find(std::string_view id) {
  for (auto& one : holders)
    if (one.id == id) return &one;
  return nullptr;
}

std::uint64_t record::taken() const {
  std::uint64_t sum = 0;
  for (const auto& one : holders) sum += one.permits;
  return sum;
}

}  // namespace holdfast::memcached
