#include "reply.hpp"

#include "keys.hpp"

#include <charconv>

namespace holdfast::memcached {

namespace {

constexpr std::size_t longest_line = 8192;
constexpr std::size_t largest_value = std::size_t{64} << 20;
constexpr std::size_t longest_list = 100'000;  // of STAT lines

failure garbage(std::string_view why) {
  return {errc::unavailable, "the answer is not memcached's: " + std::string(why)};
}

std::string_view word(std::string_view& rest) {
  const auto start = rest.find_first_not_of(' ');
  if (start == rest.npos) return rest = {};
  rest.remove_prefix(start);
  const auto first = rest.substr(0, rest.find(' '));
  rest.remove_prefix(first.size());
  return first;
}

bool is_error(std::string_view line) {
  return line == "ERROR" || line.starts_with("ERROR ") || line.starts_with("CLIENT_ERROR") ||
         line.starts_with("SERVER_ERROR") || line.starts_with("BUSY");
}

/// Of all the keys of a cache only ours are wanted.
bool worth_keeping(std::string_view line) {
  if (!line.starts_with("key=")) return true;
  return line.substr(4).starts_with(lock_keys) || line.substr(4).starts_with(wait_keys);
}

}  // namespace

std::string_view reply::status() const {
  std::string_view rest = text;
  return word(rest);
}

std::optional<std::string_view> reply::flag(char letter) const {
  std::string_view rest = text;
  word(rest);
  if (kind == what::value) word(rest);  // its size
  for (auto next = word(rest); !next.empty(); next = word(rest))
    if (next.front() == letter) return next.substr(1);
  return std::nullopt;
}

std::uint64_t reply::number(char letter) const {
  std::uint64_t value = 0;
  if (const auto text_of = flag(letter)) std::from_chars(text_of->data(), text_of->data() + text_of->size(), value);
  return value;
}

std::string_view reply::stat(std::string_view name) const {
  for (const auto& one : lines) {
    std::string_view rest = one;
    if (word(rest) != "STAT" || word(rest) != name) continue;
    return rest.empty() ? rest : rest.substr(1);
  }
  return {};
}

result<std::vector<reply>> reply_reader::take() {
  std::vector<reply> all;
  for (;;) {
    reply one;
    auto whole = next(one);
    if (!whole) return whole.error();
    if (!*whole) break;
    all.push_back(std::move(one));
  }
  buffer_.erase(0, at_);
  at_ = 0;
  return all;
}

result<bool> reply_reader::next(reply& into) {
  for (;;) {
    const std::string_view rest = std::string_view(buffer_).substr(at_);
    const auto end = rest.find('\n');
    if (end == rest.npos && rest.size() > longest_line + 1) return garbage("a line without end");
    if (end == rest.npos) return false;
    auto line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.size() > longest_line) return garbage("an empty or endless line");
    if (line.starts_with("VA ")) return read_value(into, line, end + 1);
    at_ += end + 1;
    if (line.starts_with("STAT ") || line.starts_with("key=")) {
      if (worth_keeping(line)) list_.emplace_back(line);
      if (list_.size() > longest_list && line.starts_with("STAT ")) return garbage("a list without end");
      continue;
    }
    into.text = line;
    into.kind = line == "END" ? reply::what::list : is_error(line) ? reply::what::error : reply::what::line;
    // An error in the midst of a list ends it, and it is no list.
    if (into.kind == reply::what::list) into.lines = std::move(list_);
    if (into.kind == reply::what::line && !list_.empty()) return garbage("a list that is cut short");
    list_.clear();
    return true;
  }
}

result<bool> reply_reader::read_value(reply& into, std::string_view line, std::size_t from) {
  if (!list_.empty()) return garbage("a list that is cut short");
  std::string_view rest = line;
  word(rest);
  const auto digits = word(rest);
  std::size_t size = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (failed != std::errc() || end != digits.data() + digits.size() || size > largest_value)
    return garbage("a value without size");
  if (buffer_.size() - at_ < from + size + 2) return false;
  if (buffer_.compare(at_ + from + size, 2, "\r\n") != 0) return garbage("a value that does not end where it should");
  into.kind = reply::what::value;
  into.text = line;
  into.body = buffer_.substr(at_ + from, size);
  at_ += from + size + 2;
  return true;
}

}  // namespace holdfast::memcached
