#include "floor.hpp"

#include <sqlite3.h>

#include <random>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {

namespace {

struct close_database {
  void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
};
struct finalize_statement {
  void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};
using database_ptr = std::unique_ptr<sqlite3, close_database>;
using statement_ptr = std::unique_ptr<sqlite3_stmt, finalize_statement>;

[[noreturn]] void fail(sqlite3* database, const char* what) {
  throw std::runtime_error(std::string("sqlite floor: ") + what + ": " +
                           (database != nullptr ? ::sqlite3_errmsg(database) : "out of memory"));
}

database_ptr open_database(const std::string& path) {
  sqlite3* raw = nullptr;
  const int rc =
      ::sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_ptr database(raw);
  if (rc != SQLITE_OK) fail(raw, "open");
  // The settings of our own backend, page size and length of the log included: with others it would be another store.
  constexpr const char* set_up = R"(
    PRAGMA busy_timeout = 5000;
    PRAGMA page_size = 1024;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = OFF;
    PRAGMA wal_autocheckpoint = 4000;
    CREATE TABLE IF NOT EXISTS lock (
      name TEXT PRIMARY KEY, owner BLOB, token INTEGER NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
  )";
  if (::sqlite3_exec(raw, set_up, nullptr, nullptr, nullptr) != SQLITE_OK) fail(raw, "set up");
  return database;
}

// ?1 name, ?2 owner, ?3 when the lease ends, ?4 now; milliseconds of the wall clock. No row comes back when it is held.
constexpr const char* acquire_sql = R"(
  INSERT INTO lock (name, owner, token, expires) VALUES (?1, ?2, 1, ?3)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = token + 1, expires = excluded.expires
    WHERE owner IS NULL OR expires <= ?4
  RETURNING token)";
// ?1 name, ?2 owner. The row stays: its token must never start again.
constexpr const char* release_sql = "UPDATE lock SET owner = NULL WHERE name = ?1 AND owner = ?2";

/// Two prepared statements on one connection, each its own transaction: what a correct lock cannot do without.
class sqlite_contender final : public contender {
 public:
  sqlite_contender(const std::string& path, std::string lock) : database_(open_database(path)), lock_(std::move(lock)) {
    acquire_ = prepare(acquire_sql);
    release_ = prepare(release_sql);
  }

  std::uint64_t acquire() override {
    const sqlite3_int64 time = now();
    ::sqlite3_bind_int64(acquire_.get(), 3, time + 30'000);
    ::sqlite3_bind_int64(acquire_.get(), 4, time);
    if (::sqlite3_step(acquire_.get()) != SQLITE_ROW) fail(database_.get(), "acquire");
    const auto token = static_cast<std::uint64_t>(::sqlite3_column_int64(acquire_.get(), 0));
    // The statement commits when it is stepped to its end.
    if (::sqlite3_step(acquire_.get()) != SQLITE_DONE) fail(database_.get(), "acquire");
    ::sqlite3_reset(acquire_.get());
    return token;
  }
  void release() override {
    if (::sqlite3_step(release_.get()) != SQLITE_DONE) fail(database_.get(), "release");
    ::sqlite3_reset(release_.get());
    if (::sqlite3_changes(database_.get()) != 1) fail(database_.get(), "release of a lock that is not held");
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  statement_ptr prepare(const char* sql) {
    sqlite3_stmt* raw = nullptr;
    if (::sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr) != SQLITE_OK)
      fail(database_.get(), "prepare");
    statement_ptr statement(raw);
    ::sqlite3_bind_text(raw, 1, lock_.data(), static_cast<int>(lock_.size()), SQLITE_STATIC);
    ::sqlite3_bind_blob(raw, 2, owner_, sizeof owner_, SQLITE_STATIC);
    return statement;
  }
  static sqlite3_int64 now() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<sqlite3_int64>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
  }

  database_ptr database_;
  std::string lock_;
  const unsigned owner_[4] = {std::random_device{}(), std::random_device{}(), std::random_device{}(),
                              std::random_device{}()};
  statement_ptr acquire_;
  statement_ptr release_;
};

class sqlite_subject final : public subject {
 public:
  explicit sqlite_subject(std::string path) : path_(std::move(path)) {}
  std::unique_ptr<contender> enlist(const assignment& what) override {
    return std::make_unique<sqlite_contender>(path_, what.lock);
  }

 private:
  std::string path_;
};

class sqlite_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
      case workload::many:
      case workload::handover:
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::one_worker, "2 prepared statements, 1 connection"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string&, const std::string& directory) const override {
    return std::make_unique<sqlite_subject>(directory + "/floor.db");
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_sqlite() {
  static const holdfast::bench::sqlite_floor floor;
  return &floor;
}
