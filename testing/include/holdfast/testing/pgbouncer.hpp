#pragma once

#include <holdfast/testing/postgres_server.hpp>
#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <string>

namespace holdfast::testing {

/// A PgBouncer of one test before a server: on a free port of this machine, gone with this object.
///
/// Thread safety: one thread at a time.
class pgbouncer {
 public:
  /// `mode`: its pool_mode. Throws std::runtime_error if it does not start.
  pgbouncer(const postgres_server& behind, std::string mode);

  /// Of the database, through it.
  std::string url() const;

 private:
  void start(const postgres_server& behind);

  const std::string mode_;
  temporary_directory directory_;
  std::uint16_t port_ = 0;
  server_process process_;
};

}  // namespace holdfast::testing
