#pragma once

#include "tls_settings.hpp"

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::etcd {

/// Which number a fencing token is.
enum class token_source : std::uint8_t {
  block,     ///< The create revision, or what follows the block a process drew to hand over among its threads.
  revision,  ///< The create revision, always: for resources that Go's clients fence with it too. No local handover.
};

/// What a URL says.
struct settings {
  std::vector<std::string> endpoints;  ///< host:port, in the order of the URL.
  std::string user;                    ///< Empty: none.
  std::string password;
  std::string prefix;  ///< Before every key, as Go's namespace package does it. Empty: none.
  token_source tokens = token_source::block;
  std::optional<tls_settings> tls;  ///< Nothing: plain.

  /// etcd://[user:password@]h1[:p1],h2[:p2], etcds: with TLS; options namespace=, password-file=, tokens=, and those of
  /// tls_settings. errc::invalid_argument names the part that is wrong.
  static result<settings> from(uri where);

  /// As errors and logs name it; never the password.
  std::string shown() const;
};

}  // namespace holdfast::etcd
