#include "utf8.hpp"

#include <cstdint>

namespace holdfast::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  if (first >= 0xF0 && first < 0xF5) return 4;
  return 0;
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = announced_length(first);
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text[i])) return 0;
  }
  if (length < 3) return length;
  // The second byte decides whether a longer form is overlong, a surrogate, or beyond U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second >= 0xA0) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second >= 0x90) return 0;
  return length;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    // C1 controls (U+0080 to U+009F) move the cursor on some terminals just as C0 does.
    const bool c1 = length == 2 && c == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    const std::size_t step = length == 0 ? 1 : length;
    if (length == 0 || c < 0x20 || c == 0x7f || c1) {
      out += '?';
    } else {
      out += text.substr(0, step);
    }
    text.remove_prefix(step);
  }
  return out;
}

std::size_t utf8_count(std::string_view text) noexcept {
  std::size_t n = 0;
  for (const char c : text) n += continues(c) ? 0 : 1;
  return n;
}

}  // namespace holdfast::cli
