#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// Builds one JSON document in memory, on one line. The caller keeps to the grammar; commas are set here.
class json_writer {
 public:
  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }

  json_writer& key(std::string_view name);

  /// Bytes that are not UTF-8 become U+FFFD: the document is valid whatever a foreign client put into the store.
  json_writer& string(std::string_view text);
  json_writer& number(std::int64_t value);
  json_writer& number(std::uint64_t value);
  json_writer& decimal(std::int64_t thousandths);  ///< 1500 is written 1.500.
  json_writer& boolean(bool value);
  json_writer& null();

  const std::string& text() const noexcept { return text_; }

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  json_writer& literal(std::string_view text);
  void separate();

  std::string text_;
};

}  // namespace holdfast::cli
