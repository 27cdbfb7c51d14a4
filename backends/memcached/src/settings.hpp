#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <string>
#include <vector>

namespace holdfast::memcached {

/// One server.
struct address {
  std::string host;
  std::string port = "11211";

  std::string shown() const;  ///< host:port, an IPv6 host in brackets.
};

/// What a URL says.
struct settings {
  std::vector<address> servers;  ///< In the order of the URL, which does not matter.
  std::string user;
  std::string password;

  /// memcached://[user:password@]h1[:port][,h2[:port]...]; option password-file=.
  /// errc::invalid_argument names the part that is wrong.
  static result<settings> from(uri where);

  /// As errors and logs name it; never the password. The same for the same servers in any order.
  std::string shown() const;
};

}  // namespace holdfast::memcached
