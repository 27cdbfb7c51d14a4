#pragma once

#include "layout.hpp"

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <chrono>
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
  sql::layout tables{.prefix = "holdfast_"};
  std::chrono::microseconds at_least{0};  ///< ShedLock's table: for how long a lock is kept at least.

  std::string shown() const;  ///< Host and database, never a secret.

  /// errc::invalid_argument or errc::unsupported, naming the part that is wrong.
  static result<settings> from(uri where);
};

}  // namespace holdfast::mysql
