#pragma once

#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A MariaDB server of one test: on a free port of this machine, in a directory of its own, gone with this object (and
/// with the test, should that be killed), with an empty database `holdfast`. What is committed survives kill() and
/// start(), but not a power failure.
///
/// Thread safety: one thread at a time; query() is safe.
class mariadb_server {
 public:
  /// `settings`: further ones, as `--name=value`. Throws std::runtime_error if it does not start.
  explicit mariadb_server(std::vector<std::string> settings = {});
  mariadb_server(const mariadb_server&) = delete;
  mariadb_server& operator=(const mariadb_server&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  /// `options` as they are, with their question mark.
  std::string url(const std::string& options = {}, const std::string& user = "root") const;
  std::string url_of(const std::string& database, const std::string& options) const;
  std::string directory() const { return directory_.path().string(); }
  std::string socket() const { return directory() + "/s"; }

  void kill();   ///< SIGKILL.
  void start();  ///< Again, with what it had, on the same port.
  void pause();
  void resume();
  bool running() const noexcept { return process_.running(); }

  /// What the command `mariadb` prints for `statements`, without the last newline. Throws std::runtime_error if they
  /// fail.
  std::string query(const std::string& statements, const std::string& user = "root") const;

 private:
  bool answers() const;

  const std::vector<std::string> settings_;
  temporary_directory directory_;
  std::uint16_t port_ = 0;
  server_process process_;
};

}  // namespace holdfast::testing
