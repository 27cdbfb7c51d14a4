#include "schema.hpp"

#include "process.hpp"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace holdfast::sqlite {

namespace {

// The user_version of a database that is being made.
constexpr std::int64_t unfinished = 0;

// Small pages: a commit writes the page it changed to the log, whole, and most commits change one row.
constexpr const char* page_size = "PRAGMA page_size = 1024";

// Times are nanoseconds on the boot-time clock. Sessions are clients; their ids, and those of mailboxes, are random.
constexpr const char* tables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- One row per name, kept when nobody uses it: the tokens go on. Everything an uncontended acquire and release of an
-- exclusive lock touch is in this row.
CREATE TABLE lock(
  name     TEXT PRIMARY KEY,
  kind     INTEGER NOT NULL,            -- spi::kind of the latest use
  fence    INTEGER NOT NULL,            -- the last token given out
  owner    BLOB,                        -- the exclusive holder; NULL: none. The next five are his
  token    INTEGER NOT NULL DEFAULT 0,  -- his first token ...
  tokens   INTEGER NOT NULL DEFAULT 0,  -- ... and how many he has
  expires  INTEGER NOT NULL DEFAULT 0,
  since    INTEGER NOT NULL DEFAULT 0,
  session  INTEGER NOT NULL DEFAULT 0,
  capacity INTEGER NOT NULL DEFAULT 1,  -- permits: how many there are
  shares   INTEGER NOT NULL DEFAULT 0,  -- permits in use; shared_mutex: readers. The sum over the rows of hold
  awaited  INTEGER NOT NULL DEFAULT 0,  -- 0: nobody waits; 1: look into queue
  value    INTEGER                      -- semaphore, latch: the number; NULL: never set, or an open latch
) WITHOUT ROWID;

-- Readers and holders of permits.
CREATE TABLE hold(
  name    TEXT NOT NULL,
  owner   BLOB NOT NULL,
  token   INTEGER NOT NULL,
  tokens  INTEGER NOT NULL,
  permits INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  since   INTEGER NOT NULL,
  session INTEGER NOT NULL,
  PRIMARY KEY(name, owner)
) WITHOUT ROWID;

-- Who waits, in order.
CREATE TABLE queue(
  name    TEXT NOT NULL,
  ticket  INTEGER NOT NULL,             -- grows; that of its making, so that none comes back
  owner   BLOB NOT NULL,
  access  INTEGER NOT NULL,             -- spi::access
  permits INTEGER NOT NULL,
  tokens  INTEGER NOT NULL,
  ttl     INTEGER NOT NULL,
  since   INTEGER NOT NULL,
  session INTEGER NOT NULL,
  mailbox INTEGER NOT NULL,             -- where it wants to be told; 0: it looks by itself
  PRIMARY KEY(name, ticket)
) WITHOUT ROWID;

CREATE TABLE session(
  id        INTEGER PRIMARY KEY,
  pid       INTEGER NOT NULL,
  start     INTEGER NOT NULL,
  namespace INTEGER NOT NULL,
  host      TEXT NOT NULL,
  client    TEXT NOT NULL
);

CREATE TABLE cell(name TEXT PRIMARY KEY, version INTEGER NOT NULL, writer BLOB NOT NULL, value BLOB NOT NULL);
CREATE TABLE fence(name TEXT PRIMARY KEY, newest BLOB NOT NULL) WITHOUT ROWID;  -- 8 bytes, most significant first
)sql";

// Tokens of new names start above the floor; it is raised when rows of idle names are deleted.
constexpr const char* first_meta = "INSERT INTO meta VALUES('boot', ?1), ('floor', ?2)";

// After a power failure the last commits may be missing, with tokens that were used. How many fit in a log is far less
// than 2^32.
constexpr const char* forget_last_boot = R"sql(
UPDATE lock SET owner = NULL, shares = 0, awaited = 0, since = 0, fence = fence + 4294967296;
UPDATE meta SET value = value + 4294967296 WHERE key = 'floor';
DELETE FROM hold;
DELETE FROM queue;
DELETE FROM session;
)sql";

/// Held while the tables are made. On the sidecar's directory, so that it works before there is a database; without
/// one, SQLite's own locks and its busy handler do, more slowly.
class making_lock {
 public:
  making_lock(const sidecar& beside, connection::clock::time_point deadline) : directory_(beside.directory()) {
    if (!beside.usable()) return;
    while (::flock(directory_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return;
      if (connection::clock::now() >= deadline) throw sql_error{SQLITE_BUSY, "another process is making the tables"};
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    held_ = true;
  }
  making_lock(const making_lock&) = delete;
  making_lock& operator=(const making_lock&) = delete;
  ~making_lock() {
    if (held_) ::flock(directory_, LOCK_UN);
  }

 private:
  int directory_;
  bool held_ = false;
};

void make_tables(connection& db, const std::string& boot) {
  db.execute(page_size);
  // In one transaction with a rollback journal: the file is empty or whole, and its header is ours from the first byte.
  db.execute("BEGIN IMMEDIATE");
  if (db.ask_number("SELECT count(*) FROM sqlite_schema") == 0) {
    db.execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
    db.execute(tables);
    // The time, so that a database that was deleted and made again does not give out its old tokens once more.
    const auto floor = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    statement note(db.handle(), first_meta);
    note.run(std::string_view(boot), floor.time_since_epoch().count());
  }
  db.execute("COMMIT");
}

/// Makes it, or goes on where somebody died who made it. Without waiting for the disk: nothing that anybody relies on
/// is in the file yet. Only if the power fails in its first moments it may have to be deleted.
void make_database(connection& db, const std::string& boot) {
  make_tables(db, boot);
  db.use_log();
  // Last, because it says that all is there.
  db.execute(("PRAGMA user_version = " + std::to_string(schema_version)).c_str());
}

void forget_other_boot(connection& db, const std::string& boot) {
  constexpr const char* question = "SELECT value FROM meta WHERE key = 'boot'";
  if (db.ask_text(question) == boot) return;
  db.execute("BEGIN IMMEDIATE");
  if (db.ask_text(question) != boot) {
    db.execute(forget_last_boot);
    statement note(db.handle(), "UPDATE meta SET value = ?1 WHERE key = 'boot'");
    note.run(std::string_view(boot));
  }
  db.execute("COMMIT");
}

std::int64_t version_of(connection& db) { return db.ask_number("PRAGMA user_version"); }
bool is_ours(connection& db) { return db.ask_number("PRAGMA application_id") == application_id; }

result<void> check_version(connection& db) {
  const auto version = version_of(db);
  if (version == schema_version) return {};
  const std::string known = "; this one knows " + std::to_string(schema_version);
  if (version > schema_version)
    return {errc::rejected, db.path() + ": made by a newer Holdfast (schema " + std::to_string(version) + known + ")"};
  return {errc::rejected, db.path() + ": its schema is " + std::to_string(version) + known};
}

result<void> set_up(connection& db, const sidecar& beside, const std::string& boot,
                    connection::clock::time_point deadline) {
  if (!is_ours(db) || version_of(db) == unfinished) {
    const making_lock alone(beside, deadline);
    const bool empty = db.ask_number("PRAGMA page_count") == 0;
    if (empty || (is_ours(db) && version_of(db) == unfinished)) make_database(db, boot);
    if (!is_ours(db)) return {errc::rejected, db.path() + ": it has become the database of another program"};
  }
  if (auto good = check_version(db); !good) return good;
  db.use_log();
  forget_other_boot(db, boot);
  return {};
}

}  // namespace

result<std::unique_ptr<connection>> open_database(const database_file& file, const sidecar& beside,
                                                  connection::clock::time_point deadline) {
  auto boot = boot_id();
  if (!boot) return boot.error();
  try {
    auto db = std::make_unique<connection>(file.path(), deadline);
    if (auto good = set_up(*db, beside, *boot, deadline); !good) return good.error();
    return db;
  } catch (const sql_error& e) {
    return to_failure(e.code, e.text, file.path());
  }
}

}  // namespace holdfast::sqlite
