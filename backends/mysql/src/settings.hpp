#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::mysql {

/// Where the store is and how to get there. What is empty is left to the driver: its defaults, or my.cnf if the URL
/// names one.
struct settings {
  std::string host;
  unsigned port = 0;
  std::string user;
  std::string password;
  std::string database;
  std::string unix_socket;
  std::string defaults_file;
  std::string defaults_group;
  std::vector<std::pair<std::string, std::string>> tls;  ///< ssl-ca, ssl-cert, ...: word and value.
  std::string prefix = "holdfast_";                      ///< Of tables and routines.

  std::string shown() const;  ///< Host and database, never a secret.

  /// errc::invalid_argument or errc::unsupported, naming the part that is wrong.
  static result<settings> from(uri where);
};

}  // namespace holdfast::mysql
