// Any bytes as a lock's name: accepted if and only if they are 1 to 512 bytes of UTF-8 without control characters.
#include "check.hpp"

#include "name.hpp"

using holdfast::fuzz::check;

namespace {

/// U+FFFFFFFF where there is no well-formed character. Written from the table of well-formed sequences in the Unicode
/// standard, unlike the code under test, which computes code points and compares.
char32_t next_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto within = [&](std::size_t i, unsigned low, unsigned high) { return byte(i) >= low && byte(i) <= high; };
  const auto tail = [&](std::size_t i) { return within(i, 0x80, 0xbf); };
  std::size_t length = 0;
  if (within(0, 0x00, 0x7f)) length = 1;
  if (within(0, 0xc2, 0xdf) && tail(1)) length = 2;
  const bool three = (byte(0) == 0xe0 && within(1, 0xa0, 0xbf)) || (within(0, 0xe1, 0xec) && tail(1)) ||
                     (byte(0) == 0xed && within(1, 0x80, 0x9f)) || (within(0, 0xee, 0xef) && tail(1));
  if (three && tail(2)) length = 3;
  const bool four = (byte(0) == 0xf0 && within(1, 0x90, 0xbf)) || (within(0, 0xf1, 0xf3) && tail(1)) ||
                    (byte(0) == 0xf4 && within(1, 0x80, 0x8f));
  if (four && tail(2) && tail(3)) length = 4;
  if (length == 0) return 0xffffffff;
  const char32_t character = length == 1 ? byte(0) : length == 2 ? ((byte(0) & 0x1f) << 6 | (byte(1) & 0x3f)) : 0x10000;
  text.remove_prefix(length);
  return character;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 512) return false;
  while (!text.empty()) {
    const char32_t c = next_character(text);
    if (c == 0xffffffff || c < 0x20 || (c >= 0x7f && c <= 0x9f)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto text = holdfast::fuzz::text_of(bytes, size);
  const auto checked = holdfast::detail::check_name(text);
  check(checked.has_value() == is_name(text), "a name is 1 to 512 bytes of UTF-8 without control characters");
  if (!checked && !text.empty()) {
    check(checked.error().code == holdfast::errc::invalid_argument, "a bad name is errc::invalid_argument");
    check(checked.error().detail.find("byte") != std::string::npos, "the offending byte is named");
  }
  return 0;
}
