#include "names.hpp"

#include "line.hpp"

#include <charconv>

namespace holdfast::zookeeper {

namespace {

// An empty component, which no path can have. No name has a zero byte in it.
constexpr std::string_view nothing = "%00";

bool is_hex(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool reads_as_escape(std::string_view text) noexcept {
  return text.size() >= 3 && text[0] == '%' && is_hex(text[1]) && is_hex(text[2]);
}

void escape(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

std::size_t length_of_character(unsigned char first) noexcept {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/// The server refuses U+0080 to U+009F, the private use area, U+FFF0 to U+FFFF, and all beyond: it looks at the halves
/// of a surrogate pair one by one.
bool is_refused(std::string_view character) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  switch (character.size()) {
    case 2:
      return byte(0) == 0xc2 && byte(1) < 0xa0;
    case 3: {
      const unsigned code = (byte(0) & 15u) << 12 | (byte(1) & 63u) << 6 | (byte(2) & 63u);
      return (code >= 0xe000 && code <= 0xf8ff) || code >= 0xfff0;
    }
    case 4:
      return true;
    default:
      return false;
  }
}

std::string encoded(std::string_view component) {
  if (component.empty()) return std::string(nothing);
  std::string out;
  for (std::size_t at = 0; at < component.size();) {
    const auto rest = component.substr(at);
    const auto character = rest.substr(0, length_of_character(static_cast<unsigned char>(rest[0])));
    if (is_refused(character) || reads_as_escape(rest) || rest[0] == '/') {
      // Of an escape only the sign: the digits after it are harmless then.
      for (const char c : character) escape(out, c);
    } else {
      out += character;
    }
    at += character.size();
  }
  return out;
}

/// With its first byte escaped it is no longer taken for what it looks like.
std::string disguised(std::string_view component) {
  std::string out;
  escape(out, component.front());
  return component.size() == 1 ? out : out + encoded(component.substr(1));
}

enum class place { first, later };

std::string component(std::string_view text, place where) {
  const bool mistaken = text == "." || text == ".." || contender::parse(text) ||
                        (where == place::first && (text == servers_directory || text == own_directory));
  return mistaken ? disguised(text) : encoded(text);
}

std::string decoded(std::string_view text) {
  if (text == nothing) return {};
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!reads_as_escape(text.substr(at))) {
      out += text[at];
      continue;
    }
    unsigned byte = 0;
    std::from_chars(text.data() + at + 1, text.data() + at + 3, byte, 16);
    out += static_cast<char>(byte);
    at += 2;
  }
  return out;
}

/// Calls `each` with what is between the slashes.
template <class Each>
void split(std::string_view text, Each each) {
  for (;;) {
    const auto slash = text.find('/');
    each(text.substr(0, slash));
    if (slash == text.npos) return;
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

std::string path_of(std::string_view root, std::string_view name) {
  std::string path(root);
  place where = place::first;
  split(name, [&](std::string_view part) {
    path += '/';
    path += component(part, where);
    where = place::later;
  });
  return path;
}

std::optional<std::string> name_of(std::string_view root, std::string_view path) {
  if (!path.starts_with(root) || path.size() < root.size() + 2 || path[root.size()] != '/') return std::nullopt;
  std::string name;
  bool first = true;
  split(path.substr(root.size() + 1), [&](std::string_view part) {
    if (!first) name += '/';
    name += decoded(part);
    first = false;
  });
  return name;
}

std::string component_of(std::string_view name) {
  return name == "." || name == ".." ? disguised(name) : encoded(name);
}

}  // namespace holdfast::zookeeper
