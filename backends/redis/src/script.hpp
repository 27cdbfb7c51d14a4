#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// One atomic step at the server: a Lua script, known to it by its SHA-1.
class script {
 public:
  explicit script(std::string body);

  const std::string& text() const noexcept { return body_; }

  /// The command that runs it, by its hash or, for a server that does not know it yet, with its text.
  std::string by_hash(const std::vector<std::string>& keys, const std::vector<std::string>& arguments) const;
  std::string by_text(const std::vector<std::string>& keys, const std::vector<std::string>& arguments) const;

 private:
  std::string command(std::string_view verb, std::string_view what, const std::vector<std::string>& keys,
                      const std::vector<std::string>& arguments) const;

  const std::string body_;
  const std::string hash_;
};

/// 40 lower-case hex digits. (Redis names scripts so; nothing here is a secret.)
std::string sha1(std::string_view text);

/// The scripts. Keys and arguments stand above each text.
struct scripts {
  const script enter;
  const script leave;
  const script renew;
  const script renew_mutexes;
  const script yield;
  const script convert;
  const script raise;
  const script count;
  const script exchange_cell;
  const script admit;
  const script describe;
  const script evict;

  static const scripts& all();
  static const scripts& of_plain_layout();
};

}  // namespace holdfast::redis
