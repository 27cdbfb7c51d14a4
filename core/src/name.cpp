#include "name.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace holdfast::detail {

namespace {

failure bad_byte(std::string_view name, std::size_t at, const char* what) {
  char text[96];
  std::snprintf(text, sizeof text, "name: byte 0x%02x at offset %zu %s", static_cast<unsigned char>(name[at]), at,
                what);
  return {errc::invalid_argument, text};
}

struct sequence {
  std::size_t length;     // 0: not a lead byte
  std::uint32_t minimum;  // smaller code points are overlong in this length
  std::uint32_t lead_bits;
};

sequence lead(unsigned char byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return {2, 0x80, byte & 0x1fU};
  if (byte >= 0xe0 && byte <= 0xef) return {3, 0x800, byte & 0x0fU};
  if (byte >= 0xf0 && byte <= 0xf4) return {4, 0x10000, byte & 0x07U};
  return {0, 0, 0};
}

}  // namespace

result<void> check_name(std::string_view name) {
  if (name.empty()) return {errc::invalid_argument, "name: empty; 1 to 512 bytes are allowed"};
  if (name.size() > max_name_bytes) {
    return {errc::invalid_argument, "name: " + std::to_string(name.size()) +
                                        " bytes; byte at offset 512 is one too many (1 to 512 are allowed)"};
  }
  for (std::size_t i = 0; i < name.size();) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte < 0x20 || byte == 0x7f) return bad_byte(name, i, "is a control character");
    if (byte < 0x80) {
      ++i;
      continue;
    }
    const sequence form = lead(byte);
    if (form.length == 0) return bad_byte(name, i, "does not start a UTF-8 character");
    std::uint32_t point = form.lead_bits;
    for (std::size_t k = 1; k < form.length; ++k) {
      if (i + k >= name.size()) return bad_byte(name, i, "starts a UTF-8 character that is cut off");
      const auto next = static_cast<unsigned char>(name[i + k]);
      if ((next & 0xc0) != 0x80) return bad_byte(name, i + k, "does not continue the UTF-8 character before it");
      point = (point << 6) | (next & 0x3fU);
    }
    if (point < form.minimum) return bad_byte(name, i, "starts an overlong UTF-8 form");
    if (point >= 0xd800 && point <= 0xdfff) return bad_byte(name, i, "starts a UTF-16 surrogate, not a character");
    if (point > 0x10ffff) return bad_byte(name, i, "starts a code point beyond U+10FFFF");
    if (point >= 0x80 && point <= 0x9f) return bad_byte(name, i, "starts a control character (U+0080 to U+009F)");
    i += form.length;
  }
  return {};
}

}  // namespace holdfast::detail
