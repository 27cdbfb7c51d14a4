#include "json.hpp"

#include "utf8.hpp"

#include <cstdio>
#include <cstdlib>

namespace holdfast::cli {

void json_writer::separate() {
  if (text_.empty()) return;
  const char last = text_.back();
  if (last != '{' && last != '[' && last != ':') text_ += ',';
}

json_writer& json_writer::open(char bracket) {
  separate();
  text_ += bracket;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  text_ += bracket;
  return *this;
}

json_writer& json_writer::literal(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  string(name);
  text_ += ':';
  return *this;
}

json_writer& json_writer::string(std::string_view text) {
  separate();
  text_ += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      text_ += escape;
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  text_ += '"';
  return *this;
}

json_writer& json_writer::number(std::int64_t value) { return literal(std::to_string(value)); }
json_writer& json_writer::number(std::uint64_t value) { return literal(std::to_string(value)); }

json_writer& json_writer::decimal(std::int64_t thousandths) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", thousandths < 0 ? "-" : "",
                static_cast<long long>(std::abs(thousandths / 1000)),
                static_cast<long long>(std::abs(thousandths % 1000)));
  return literal(text);
}

json_writer& json_writer::boolean(bool value) { return literal(value ? "true" : "false"); }
json_writer& json_writer::null() { return literal("null"); }

}  // namespace holdfast::cli
