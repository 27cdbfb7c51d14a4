#pragma once

#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A memcached of one test: on a free port of this machine, gone with this object (and with the test, should that be
/// killed).
///
/// Thread safety: one thread at a time.
class memcached_server {
 public:
  /// `settings`: further words of its command line. Throws std::runtime_error if it does not start.
  explicit memcached_server(std::vector<std::string> settings = {});

  std::uint16_t port() const noexcept { return port_; }
  std::string url() const { return "memcached://127.0.0.1:" + std::to_string(port_); }

  void kill() { process_.kill(); }
  void start();  ///< Again, empty, on the same port.
  void pause() { process_.pause(); }
  void resume() { process_.resume(); }

  /// One command on a connection of its own, without its last end of line; all that came at once as it came.
  std::string ask(const std::string& command) const;

 private:
  const std::vector<std::string> settings_;
  temporary_directory directory_;
  std::uint16_t port_ = 0;
  server_process process_;
};

}  // namespace holdfast::testing
