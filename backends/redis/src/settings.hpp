#pragma once

#include "sentinel_list.hpp"
#include "slots.hpp"
#include "tls_settings.hpp"

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

/// Where fencing tokens come from.
/// The letters are those the scripts know.
enum class token_source : char {
  hybrid = 'h',    ///< The greater of the last token and the server's time: survives the loss of all data.
  redisson = 'r',  ///< Redisson's plain counter.
  quorum = 'q',    ///< As hybrid, on a coarse clock: servers that are asked together draw the same.
};

/// What a quorum does with a server that was restarted and may have forgotten locks.
enum class restarted_nodes : std::uint8_t {
  wait,  ///< It does not vote until every lease it may have forgotten is over.
  vote,  ///< It votes at once: whoever runs them sees to it that they come back late.
};

/// What a lock looks like to others.
enum class key_layout : std::uint8_t {
  redisson,  ///< As Redisson's.
  plain,     ///< One string, set if it is not there: as redsync's, redis-py's and node-redlock's.
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
  key_layout layout = key_layout::redisson;
  std::string prefix;     ///< layout=plain: what its keys begin with.
  unsigned replicas = 0;  ///< How many must have a grant before it counts.
  std::chrono::nanoseconds replicas_timeout = std::chrono::seconds(1);  ///< How long they may take.
  restarted_nodes restarted = restarted_nodes::wait;
  std::optional<tls_settings> tls;  ///< Nothing: plain.

  enum class role : std::uint8_t {
    server,    ///< The one at host and port, or at the socket.
    master,    ///< Whoever the sentinels call the master.
    sentinel,  ///< Any of the sentinels.
  };
  role whom = role::server;
  std::string master;  ///< As the sentinels know it.
  std::string sentinel_user;
  std::string sentinel_password;
  std::shared_ptr<sentinel_list> sentinels;  ///< Copies share what they learn.

  /// redis://[user:password@]host[:port][/db], rediss: with TLS, redis+unix:///path.sock?db=N,
  /// redis+sentinel://[user:password@]h1[:p],h2[:p]/master-name[/db],
  /// redis+cluster://[user:password@]h1[:p],h2[:p]; options tokens=, layout=, prefix=, password-file=,
  /// replicas=, replicas-timeout=, those of tls_settings, pubsub=, sentinel-user=, sentinel-password-file=.
  /// errc::invalid_argument names the part that is wrong.
  static result<settings> from(uri where);
  /// redlock://[user:password@]h1[:port],h2[:port],...[/db]: one for each server; options restarted=, password-file=.
  static result<std::vector<settings>> each_from(uri where);

  /// As errors and logs name it; never the password.
  std::string shown() const;
  /// host:port, or the socket's path: the same as shown() unless sentinels tell where it is.
  std::string address() const;
};

}  // namespace holdfast::redis
