#pragma once

#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A redis-server of one test: on a free port of this machine, in a directory of its own, gone with this object (and
/// with the test, should that be killed). Keeps nothing on disk.
///
/// Thread safety: one thread at a time.
class redis_server {
 public:
  /// `settings`: further words of its command line. `configuration`: the text of a file of them, which a sentinel
  /// needs. Throws std::runtime_error if it does not start.
  explicit redis_server(std::vector<std::string> settings = {}, std::string configuration = {});

  std::uint16_t port() const noexcept { return port_; }
  std::string url(unsigned database = 0) const;
  std::string socket() const { return (directory_.path() / "socket").string(); }

  void kill() { process_.kill(); }
  void start();  ///< Again, empty, on the same port.
  void pause() { process_.pause(); }
  void resume() { process_.resume(); }
  bool running() const noexcept { return process_.running(); }

  /// One command on a connection of its own; the reply's first line, or the text of a bulk reply.
  std::string command(const std::vector<std::string>& words) const;
  /// The same, every line of the reply as the protocol has it.
  std::vector<std::string> lines(const std::vector<std::string>& words) const;
  /// The same, all that came at once as it came.
  std::string reply(const std::vector<std::string>& words) const;

 private:
  bool answers() const;

  const std::vector<std::string> settings_;
  const std::string configuration_;
  temporary_directory directory_;
  std::uint16_t port_ = 0;
  server_process process_;
};

}  // namespace holdfast::testing
