#pragma once

#include <holdfast/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memcached {

/// One answer of the server.
struct reply {
  enum class what : std::uint8_t {
    line,   ///< A status of the meta commands, or any other single line.
    value,  ///< VA: with `body`.
    list,   ///< STAT and key= lines up to END, in `lines`.
    error,  ///< ERROR, CLIENT_ERROR, SERVER_ERROR, BUSY; all of it in `text`.
  };
  what kind = what::line;
  std::string text;  ///< The line itself.
  std::string body;
  std::vector<std::string> lines;
  std::uint64_t era = 0;  ///< Of the server's life in which it said so; see link.

  /// HD, NS, EX, NF, EN, VA, MN ...
  std::string_view status() const;
  bool is(std::string_view status_word) const { return status() == status_word; }
  /// The rest of the flag that begins with this letter.
  std::optional<std::string_view> flag(char letter) const;
  /// The same as a number; 0 where there is none.
  std::uint64_t number(char letter) const;
  /// Of a list of STAT lines.
  std::string_view stat(std::string_view name) const;
};

/// Takes the stream of answers apart. Of a listing of keys only ours are kept.
///
/// Thread safety: as a value.
class reply_reader {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// Those that are whole. A failure: this is no memcached, or not any more; nothing after it can be told apart.
  result<std::vector<reply>> take();

 private:
  /// False: more is needed.
  result<bool> next(reply& into);
  result<bool> read_value(reply& into, std::string_view line, std::size_t from);

  std::string buffer_;
  std::size_t at_ = 0;
  std::vector<std::string> list_;
};

}  // namespace holdfast::memcached
