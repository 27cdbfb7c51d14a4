#include "badge.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::zookeeper {

namespace {

constexpr std::string_view mark = "holdfast ";
// Of another client's; longer ones are cut.
constexpr std::size_t longest_shown = 64;
// Nothing of ours lasts longer; what anybody writes there must not overflow.
constexpr std::chrono::milliseconds longest_ttl = std::chrono::days(30);

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return out;
}

std::string_view word_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == text.npos) return {};
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find(' '));
}

template <class Number>
Number number_after(std::string_view text, std::string_view key, Number otherwise) {
  const auto word = word_after(text, key);
  Number value = otherwise;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

}  // namespace

badge badge::of(const spi::identity& who, const spi::claim& claim) {
  badge b;
  b.pid = who.pid;
  b.ttl = std::chrono::duration_cast<std::chrono::milliseconds>(claim.ttl);
  b.permits = claim.permits;
  b.limit = claim.kind == spi::kind::permits ? claim.limit : 0;
  b.host = who.host;
  b.client_name = who.client_name;
  return b;
}

std::string badge::text() const {
  std::string host_word = printable(host);
  std::replace(host_word.begin(), host_word.end(), ' ', '_');
  return std::string(mark) + "pid=" + std::to_string(pid) + " ttl=" + std::to_string(ttl.count()) +
         " permits=" + std::to_string(permits) + " limit=" + std::to_string(limit) + " host=" + host_word +
         " name=" + printable(client_name);
}

badge badge::read(std::string_view text) {
  badge b;
  if (!text.starts_with(mark)) {
    b.host = printable(text.substr(0, longest_shown));
    return b;
  }
  const auto name = text.find(" name=");
  const auto head = text.substr(0, name);
  b.pid = number_after<std::int64_t>(head, " pid=", 0);
  b.ttl = std::clamp<std::chrono::milliseconds>(std::chrono::milliseconds(number_after<std::int64_t>(head, " ttl=", 0)),
                                                std::chrono::milliseconds(0), longest_ttl);
  b.permits = number_after<std::uint32_t>(head, " permits=", 1);
  b.limit = number_after<std::uint32_t>(head, " limit=", 0);
  b.host = std::string(word_after(head, " host="));
  if (name != text.npos) b.client_name = std::string(text.substr(name + 6));
  return b;
}

}  // namespace holdfast::zookeeper
