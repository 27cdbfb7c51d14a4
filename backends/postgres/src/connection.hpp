#pragma once

#include "pg_error.hpp"
#include "rows.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <libpq-fe.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::postgres {

/// What the server answered: rows, all of them.
class rows {
 public:
  rows() = default;
  explicit rows(PGresult* from) : all_(from) {}

  int size() const noexcept { return all_ ? PQntuples(all_.get()) : 0; }
  std::string_view text(int row, int column) const noexcept;
  std::int64_t integer(int row, int column) const noexcept;
  /// What there is in them: a bytea as its bytes; a record of numbers, `(1,,3)`, as so many columns.
  sql::rows plain() const;

  const PGresult* raw() const noexcept { return all_.get(); }

 private:
  struct clear {
    void operator()(PGresult* r) const noexcept { PQclear(r); }
  };
  std::unique_ptr<PGresult, clear> all_;
};

/// A connection that is ready for statements.
///
/// Thread safety: one thread at a time; the socket may be waited for meanwhile.
class connection {
 public:
  using clock = std::chrono::steady_clock;

  connection() = default;
  explicit connection(PGconn* made);
  connection(connection&& other) noexcept;
  connection& operator=(connection&& other) noexcept;
  ~connection();

  explicit operator bool() const noexcept { return conn_ != nullptr; }
  PGconn* get() const noexcept { return conn_; }
  int fd() const noexcept { return PQsocket(conn_); }
  bool good() const noexcept { return conn_ != nullptr && PQstatus(conn_) == CONNECTION_OK && !*dismissed_; }
  /// Has the server hung up, or said something unasked that is the end? Only while nothing is asked.
  bool stale() const noexcept;

  /// Runs `text`, one or more statements; the rows of the last. Blocks until `deadline`: errc::unavailable, and the
  /// connection is of no more use. Not in pipeline mode.
  result<rows> run(const std::string& text, clock::time_point deadline);

  /// Waits until it can be read (or written). False: not before the deadline.
  bool wait(short events, clock::time_point deadline) const noexcept;

 private:
  PGconn* conn_ = nullptr;
  std::unique_ptr<bool> dismissed_;  // the server has said that this is the end
  pid_t whose_ = -1;
};

/// Connects as `settings` say and sets the session up. Blocks at most `limit` (but the look-up of a host name takes as
/// long as the resolver does). errc::unavailable: nobody there, or not ready; anything else: it does not want us.
result<connection> dial(const settings& where, spi::runtime& engine, std::chrono::nanoseconds limit);

/// A failure of the connection itself: errc::unavailable.
failure broken(const settings& where, std::string_view what);

}  // namespace holdfast::postgres
