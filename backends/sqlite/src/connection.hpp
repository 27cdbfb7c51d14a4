#pragma once

#include "statement.hpp"

#include <holdfast/result.hpp>

#include <sqlite3.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::sqlite {

/// One SQLite connection, set up the way this backend works: write-ahead log, no checkpoint when it is closed (a
/// command that is the only user of the file would pay two disk syncs at each exit), checkpoints when we say so.
///
/// Thread safety: one thread at a time.
class connection {
 public:
  using clock = std::chrono::steady_clock;

  /// Opens the file, which must exist. Throws sql_error.
  connection(std::string path, clock::time_point deadline);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  sqlite3* handle() const noexcept { return db_; }
  const std::string& path() const noexcept { return path_; }

  /// Until when the busy handler may wait for users of the file that do not know our turn.
  void wait_until(clock::time_point deadline) noexcept { deadline_ = deadline; }

  void execute(const char* sql);             ///< Throws sql_error.
  std::int64_t ask_number(const char* sql);  ///< The first value of the first row. Throws sql_error.
  std::string ask_text(const char* sql);     ///< As ask_number.

  /// Switches to the write-ahead log, which stays when all have gone. Throws sql_error, also where the file system
  /// cannot carry one.
  void use_log();

  /// From now on, what checkpoints do is on the disk before it is relied on. A connection begins without: no commit of
  /// ours waits for the disk. Throws sql_error.
  void wait_for_disk();

  bool in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }
  void roll_back() noexcept;

  /// The file at the path is not the one we have open any more.
  bool moved() const noexcept;

  /// What the latest statement gave to the SQL function noted(x, ...), which returns x.
  const std::array<std::int64_t, 3>& noted() const noexcept { return noted_; }

  /// How long the log was after the latest commit of this connection, in pages.
  int log_pages() const noexcept { return log_pages_; }
  /// Puts the log on the disk, as far as it is written. Any thread may, at any time.
  void flush_log() const noexcept;
  /// Copies what the log holds into the database, as far as readers let it. True: all of it, the log starts afresh.
  bool checkpoint();

  failure describe(const sql_error& e) const { return to_failure(e.code, e.text, path_); }

 private:
  static void note(sqlite3_context* context, int count, sqlite3_value** values) noexcept;
  static int on_busy(void* self, int tries) noexcept;
  static int on_commit(void* self, sqlite3*, const char*, int pages) noexcept;
  void set_up();

  const std::string path_;
  clock::time_point deadline_;
  int log_pages_ = 0;
  std::array<std::int64_t, 3> noted_{};
  sqlite3* db_ = nullptr;
};

}  // namespace holdfast::sqlite
