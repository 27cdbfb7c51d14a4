#pragma once

#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A PostgreSQL server of one test: on a free port of this machine, in a directory of its own, gone with this object
/// (and with the test, should that be killed). What is committed survives kill() and start(), but not a power failure.
///
/// Thread safety: one thread at a time; query() is safe.
class postgres_server {
 public:
  /// `settings`: further ones, as `name=value`. Throws std::runtime_error if it does not start.
  explicit postgres_server(std::vector<std::string> settings = {});
  struct standby_of {
    const postgres_server& primary;
  };
  /// A standby that streams from another one, until it is promoted (`SELECT pg_promote()`).
  explicit postgres_server(standby_of whom, std::vector<std::string> settings = {});
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;
  ~postgres_server();

  std::uint16_t port() const noexcept { return port_; }
  /// `options` as they are, with their question mark.
  std::string url(const std::string& options = {}, const std::string& user = "postgres") const;
  std::string url_of(const std::string& database, const std::string& options) const;
  std::string directory() const { return directory_.path().string(); }  ///< Of its socket too.
  std::string data() const { return directory() + "/data"; }

  void kill();   ///< SIGKILL, to all of its processes.
  void start();  ///< Again, with what it had, on the same port.
  void stop();   ///< As an administrator would who is in a hurry.
  void pause();  ///< All of its processes.
  void resume();
  bool running() const noexcept { return process_.running(); }

  /// What psql prints for `statements`, without the last newline. Throws std::runtime_error if they fail.
  std::string query(const std::string& statements, const std::string& user = "postgres") const;

  /// The words that turn root into somebody its programs run for; none if it is not root.
  static std::vector<std::string> run_as();

 private:
  void own_directory() const;
  void start_somewhere();
  bool answers() const;
  std::vector<pid_t> children() const;
  void forget_memory() const;

  const std::vector<std::string> settings_;
  temporary_directory directory_;
  std::uint16_t port_ = 0;
  server_process process_;
};

}  // namespace holdfast::testing
