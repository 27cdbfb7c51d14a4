#include "sql_error.hpp"

namespace holdfast::sqlite {

namespace {

/// What to tell a person, where SQLite's own words leave out the point.
const char* meaning(int code) noexcept {
  switch (code) {
    case SQLITE_READONLY_DIRECTORY:
      return "its directory cannot be written to";
    case SQLITE_READONLY_DBMOVED:
      return "it was moved or deleted while it was open; connect again";
    case SQLITE_CANTOPEN_SYMLINK:
      return "it is a symbolic link";
    case SQLITE_CANTOPEN_ISDIR:
      return "it is a directory";
    default:
      break;
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
      return "another program keeps it locked";
    case SQLITE_READONLY:
      return "it cannot be written to";
    case SQLITE_FULL:
      return "the disk is full";
    case SQLITE_CORRUPT:
      return "it is damaged";
    case SQLITE_NOTADB:
      return "it is not an SQLite database";
    case SQLITE_CANTOPEN:
      return "it, or a file beside it, cannot be opened or made";
    case SQLITE_IOERR:
      return "reading or writing it failed";
    case SQLITE_NOMEM:
      return "out of memory";
    default:
      return nullptr;
  }
}

}  // namespace

errc to_errc(int code) noexcept {
  switch (code) {
    // Not enough memory for a moment, or a lock taken from under us: the next try may do.
    case SQLITE_IOERR_NOMEM:
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_SHMLOCK:
      return errc::unavailable;
    default:
      break;
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
      return errc::unavailable;
    case SQLITE_TOOBIG:
      return errc::invalid_argument;
    // A full disk, missing rights, a damaged file: they do not go away by asking again.
    default:
      return errc::rejected;
  }
}

failure to_failure(int code, std::string_view text, std::string_view path) {
  std::string detail(path);
  if (!detail.empty()) detail += ": ";
  if (const char* words = meaning(code)) detail += std::string(words) + ": ";
  detail += text.empty() ? std::string_view(sqlite3_errstr(code)) : text;
  detail += " (SQLite " + std::to_string(code) + ")";
  return {to_errc(code), std::move(detail)};
}

void check(int code, sqlite3* db) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  // The connection's words, unless they are about something else.
  const bool same = db != nullptr && (sqlite3_extended_errcode(db) & 0xff) == (code & 0xff);
  throw sql_error{code, same ? sqlite3_errmsg(db) : sqlite3_errstr(code)};
}

}  // namespace holdfast::sqlite
