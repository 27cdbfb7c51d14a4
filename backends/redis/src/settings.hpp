#pragma once

#include "slots.hpp"

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::redis {

/// Where fencing tokens come from.
enum class token_source : std::uint8_t {
  hybrid,    ///< The greater of the last token and the server's time: survives the loss of all data.
  redisson,  ///< Redisson's plain counter.
};

/// How a cluster tells Redisson's clients of a release, and how they tell us.
enum class publishing : std::uint8_t {
  automatic,  ///< sharded where the server has it, else plain: as Redisson does.
  plain,      ///< PUBLISH and SUBSCRIBE.
  sharded,    ///< SPUBLISH and SSUBSCRIBE.
  both,       ///< For a fleet where both are in use.
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
  std::vector<node_address> seeds;  ///< Nodes of a Redis Cluster; empty: a single server.
  publishing pubsub = publishing::automatic;

  /// redis://[user:password@]host[:port][/db], redis+unix:///path.sock?db=N; options tokens=, password-file=.
  /// redis+cluster://[user:password@]host[:port],host[:port]..., also with pubsub=.
  /// errc::invalid_argument names the part that is wrong.
  static result<settings> from(uri where);

  /// As errors and logs name it; never the password.
  std::string shown() const;
};

}  // namespace holdfast::redis
