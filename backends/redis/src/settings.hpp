#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::redis {

/// Where fencing tokens come from.
enum class token_source : std::uint8_t {
  hybrid,    ///< The greater of the last token and the server's time: survives the loss of all data.
  redisson,  ///< Redisson's plain counter.
};

/// What a lock looks like to others.
enum class key_layout : std::uint8_t {
  redisson,  ///< As Redisson's.
  plain,     ///< One string, set if it is not there: as redsync's, redis-py's and node-redlock's.
};

/// What a URL says.
struct settings {
  std::string host;
  std::string port = "6379";
  std::string socket;  ///< Path; empty: TCP.
  std::string user;
  std::string password;
  unsigned database = 0;
  token_source tokens = token_source::hybrid;
  key_layout layout = key_layout::redisson;
  std::string prefix;     ///< layout=plain: what its keys begin with.
  unsigned replicas = 0;  ///< How many must have a grant before it counts.
  std::chrono::nanoseconds replicas_timeout = std::chrono::seconds(1);  ///< How long they may take.

  /// redis://[user:password@]host[:port][/db], redis+unix:///path.sock?db=N; options tokens=, layout=, prefix=,
  /// password-file=, replicas=, replicas-timeout=. errc::invalid_argument names the part that is wrong.
  static result<settings> from(uri where);

  /// As errors and logs name it; never the password.
  std::string shown() const;
};

}  // namespace holdfast::redis
