#include "connection.hpp"

#include "descriptor.hpp"

#include <fcntl.h>

#include <algorithm>
#include <span>
#include <thread>

namespace holdfast::sqlite {

namespace {

// The first tries come quickly: a foreign writer is mostly gone in a moment.
constexpr std::chrono::microseconds first_pause{100};
constexpr std::chrono::microseconds longest_pause{10'000};

}  // namespace

connection::connection(std::string path, clock::time_point deadline) : path_(std::move(path)), deadline_(deadline) {
  // Our own mutex is around it. No symbolic links: the path was resolved but for its last part, which must not be one.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr);
  try {
    check(code, db_);
    set_up();
  } catch (...) {
    sqlite3_close_v2(db_);
    throw;
  }
}

connection::~connection() { sqlite3_close_v2(db_); }

void connection::set_up() {
  sqlite3_busy_handler(db_, &connection::on_busy, this);
  // Replaces SQLite's own checkpoints too, which come in the middle of a commit.
  sqlite3_wal_hook(db_, &connection::on_commit, this);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  check(sqlite3_create_function_v2(db_, "noted", -1, SQLITE_UTF8, this, &connection::note, nullptr, nullptr, nullptr),
        db_);
  if (sqlite3_db_readonly(db_, "main") == 1) throw sql_error{SQLITE_READONLY, "opened read-only"};
  // A commit is written, not synced: it survives the end of every process. With NORMAL the one that begins a log afresh
  // would wait for the disk, seconds on a bad day, with everybody behind it.
  execute("PRAGMA synchronous = OFF");
}

void connection::wait_for_disk() { execute("PRAGMA synchronous = NORMAL"); }

void connection::flush_log() const noexcept {
  const descriptor log(::open((path_ + "-wal").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (log) ::fdatasync(log.get());
}

void connection::use_log() {
  // Two who switch at once could only wait for each other: SQLite turns one of them away, without asking the busy
  // handler. By now that one has let go of everything, so it may wait.
  std::string mode;
  for (int tries = 0; mode.empty(); ++tries) {
    try {
      mode = ask_text("PRAGMA journal_mode = WAL");
    } catch (const sql_error& e) {
      if ((e.code & 0xff) != SQLITE_BUSY || on_busy(this, tries) == 0) throw;
    }
  }
  if (mode != "wal") throw sql_error{SQLITE_CANTOPEN, "this file system cannot carry a write-ahead log"};
  int keep = 1;
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
}

void connection::execute(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), db_); }

std::int64_t connection::ask_number(const char* sql) {
  statement question(db_, sql);
  rows answer = question();
  return answer.next() ? answer.integer(0) : 0;
}

std::string connection::ask_text(const char* sql) {
  statement question(db_, sql);
  rows answer = question();
  return answer.next() ? std::string(answer.text(0)) : std::string();
}

void connection::roll_back() noexcept {
  // Many errors have rolled back already.
  if (in_transaction()) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

bool connection::moved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

bool connection::checkpoint() {
  int pages = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
  // Somebody else is at it: as good.
  if ((code & 0xff) == SQLITE_BUSY) return true;
  check(code, db_);
  return pages == copied;
}

void connection::note(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  auto& noted = static_cast<connection*>(sqlite3_user_data(context))->noted_;
  const auto all = std::span(values, static_cast<std::size_t>(count)).first(std::min<std::size_t>(count, noted.size()));
  std::transform(all.begin(), all.end(), noted.begin(), sqlite3_value_int64);
  sqlite3_result_int64(context, noted[0]);
}

int connection::on_busy(void* self, int tries) noexcept {
  const auto now = clock::now();
  const auto deadline = static_cast<connection*>(self)->deadline_;
  if (now >= deadline) return 0;
  const auto pause = std::min(first_pause * (1 << std::min(tries, 7)), longest_pause);
  std::this_thread::sleep_until(std::min(deadline, now + pause));
  return 1;
}

int connection::on_commit(void* self, sqlite3*, const char*, int pages) noexcept {
  static_cast<connection*>(self)->log_pages_ = pages;
  return SQLITE_OK;
}

}  // namespace holdfast::sqlite
