#pragma once

#include <holdfast/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;
struct redisReply;

namespace holdfast::redis {

/// One answer of the server, as it came. Wrong types read as empty or zero: a server that answers something else than
/// was asked for is told by what().
class reply {
 public:
  enum class type : std::uint8_t { nil, integer, text, array, error };

  explicit reply(redisReply* owned);
  static reply nothing() { return reply(nullptr); }

  type what() const noexcept;
  bool is_error() const noexcept { return what() == type::error; }
  std::int64_t integer() const noexcept;   ///< Also of decimal text.
  std::uint64_t unsigned_integer() const;  ///< The same beyond 2^63.
  std::string_view text() const noexcept;
  std::size_t size() const noexcept;  ///< Of an array.
  /// An element, which lives as long as this one; nil beyond the end.
  reply at(std::size_t index) const;

 private:
  explicit reply(std::shared_ptr<const redisReply> part) : value_(std::move(part)) {}

  std::shared_ptr<const redisReply> value_;
};

/// Takes replies out of a stream of bytes.
///
/// Thread safety: one thread at a time.
class reply_reader {
 public:
  reply_reader();

  void feed(std::string_view bytes);
  /// Every whole reply there is. errc::unavailable: what came is no RESP.
  result<std::vector<reply>> take();

 private:
  struct closer {
    void operator()(redisReader* r) const noexcept;
  };
  std::unique_ptr<redisReader, closer> reader_;
};

/// Appends a command as the protocol spells it.
void append_command(std::string& out, const std::vector<std::string_view>& words);

}  // namespace holdfast::redis
