#pragma once

#include "rows.hpp"

#include <holdfast/result.hpp>

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct st_mysql;
struct st_mysql_res;

namespace holdfast::mysql {

/// One of the answers to what was asked.
struct reply {
  sql::rows got;
  bool status = false;             ///< No rows: the end of a CALL, or of a statement that has none.
  std::optional<failure> refused;  ///< Nothing that was asked behind it has been done.
  unsigned number = 0;             ///< Of the refusal.
};

/// A connection, in the driver's non-blocking mode: one exchange at a time, in which several statements go out together
/// and are answered one by one.
///
/// Thread safety: one thread at a time; the socket may be waited for meanwhile.
class connection {
 public:
  using clock = std::chrono::steady_clock;

  connection() = default;
  explicit connection(st_mysql* made);
  connection(connection&& other) noexcept;
  connection& operator=(connection&& other) noexcept;
  ~connection();

  explicit operator bool() const noexcept { return conn_ != nullptr; }
  st_mysql* get() const noexcept { return conn_; }
  int fd() const noexcept { return fd_; }
  void settle_socket() noexcept;  ///< Once it is connected.
  /// Has the server hung up, or said something unasked that can only be the end? Only while nothing is asked.
  bool stale() const noexcept;

  /// Begins an exchange. Requires: none is under way.
  void start(std::string text);
  enum class progress : std::uint8_t {
    waits,    ///< For wants(), of the socket.
    replied,  ///< There is one; go on.
    over,     ///< No more of them.
  };
  /// As far as it goes without waiting. `ready`: which of wants() there is.
  progress go_on(short ready, reply& out);
  bool busy() const noexcept { return step_ != step::idle; }
  bool broken() const noexcept { return broken_; }  ///< After a refusal: it is of no more use.
  short wants() const noexcept { return wants_; }   ///< As events of poll().

  /// Runs `text`, one or more statements; the rows of the last that has any. Blocks until `deadline`:
  /// errc::unavailable, and the connection is of no more use.
  result<sql::rows> run(std::string text, clock::time_point deadline);

  /// Waits for `events` of its socket; those that came, or 0: not before the deadline.
  short wait(short events, clock::time_point deadline) const noexcept;

 private:
  enum class step : std::uint8_t { idle, asking, storing, advancing };

  progress refuse(reply& out);
  bool suspended(int wanted);
  void store(reply& out);

  st_mysql* conn_ = nullptr;
  int fd_ = -1;
  pid_t whose_ = -1;
  std::string text_;  // what is asked; the driver reads it as it goes
  step step_ = step::idle;
  bool fresh_ = true;  // the step has not begun
  bool broken_ = false;
  short wants_ = 0;
  int code_ = 0;
  st_mysql_res* stored_ = nullptr;
};

}  // namespace holdfast::mysql
