#pragma once

#include "settings.hpp"

#include <holdfast/inspect.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

/// What could be learned of an ensemble. What it was not willing to say is missing.
struct symptoms {
  struct server {
    std::string address;
    std::optional<std::string> srvr;  ///< What it says to that.
  };
  std::vector<server> servers;                    ///< Those of the URL.
  std::optional<std::string> members;             ///< The node /zookeeper/config.
  std::chrono::nanoseconds asked{0};              ///< The session's timeout: ours
  std::chrono::nanoseconds granted{0};            ///< and the server's.
  std::optional<std::chrono::nanoseconds> write;  ///< How long one took.
  std::optional<std::string> forbidden;           ///< Why a node could not be made and removed.
};

/// What that means for locks: each with its consequence and what to do about it.
std::vector<finding> judge_health(const symptoms& seen, const settings& where);

/// What the server at `address` (host:port) says to a word of four letters; nothing if it does not answer, or may not.
/// Blocks for two seconds at most, and for as long as it takes to find the host.
std::optional<std::string> ask_server(const std::string& address, std::string_view word);

}  // namespace holdfast::zookeeper
