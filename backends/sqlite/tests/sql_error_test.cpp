#include "sql_error.hpp"

#include <gtest/gtest.h>

namespace holdfast::sqlite_tests {

using sqlite::to_errc;
using sqlite::to_failure;

struct mapping {
  int code;
  errc meaning;
};

// Every primary result code, and the extended ones that differ from their primary.
constexpr mapping every_code[] = {
    {SQLITE_ERROR, errc::rejected},
    {SQLITE_INTERNAL, errc::rejected},
    {SQLITE_PERM, errc::rejected},
    {SQLITE_ABORT, errc::rejected},
    {SQLITE_BUSY, errc::unavailable},
    {SQLITE_LOCKED, errc::unavailable},
    {SQLITE_NOMEM, errc::unavailable},
    {SQLITE_READONLY, errc::rejected},
    {SQLITE_INTERRUPT, errc::unavailable},
    {SQLITE_IOERR, errc::rejected},
    {SQLITE_CORRUPT, errc::rejected},
    {SQLITE_NOTFOUND, errc::rejected},
    {SQLITE_FULL, errc::rejected},
    {SQLITE_CANTOPEN, errc::rejected},
    {SQLITE_PROTOCOL, errc::unavailable},
    {SQLITE_EMPTY, errc::rejected},
    {SQLITE_SCHEMA, errc::rejected},
    {SQLITE_TOOBIG, errc::invalid_argument},
    {SQLITE_CONSTRAINT, errc::rejected},
    {SQLITE_MISMATCH, errc::rejected},
    {SQLITE_MISUSE, errc::rejected},
    {SQLITE_NOLFS, errc::rejected},
    {SQLITE_AUTH, errc::rejected},
    {SQLITE_FORMAT, errc::rejected},
    {SQLITE_RANGE, errc::rejected},
    {SQLITE_NOTADB, errc::rejected},
    {SQLITE_BUSY_SNAPSHOT, errc::unavailable},
    {SQLITE_BUSY_RECOVERY, errc::unavailable},
    {SQLITE_IOERR_NOMEM, errc::unavailable},
    {SQLITE_IOERR_LOCK, errc::unavailable},
    {SQLITE_IOERR_RDLOCK, errc::unavailable},
    {SQLITE_IOERR_SHMLOCK, errc::unavailable},
    {SQLITE_IOERR_WRITE, errc::rejected},
    {SQLITE_IOERR_FSYNC, errc::rejected},
    {SQLITE_READONLY_DBMOVED, errc::rejected},
    {SQLITE_CANTOPEN_SYMLINK, errc::rejected},
    {SQLITE_READONLY_DIRECTORY, errc::rejected},
    {SQLITE_CORRUPT_INDEX, errc::rejected},
};

TEST(sql_error, every_code_has_its_meaning) {
  for (const auto& [code, meaning] : every_code) EXPECT_EQ(to_errc(code), meaning) << sqlite3_errstr(code);
}

TEST(sql_error, the_text_names_the_file_the_meaning_and_the_code) {
  const failure full = to_failure(SQLITE_FULL, "database or disk is full", "/x/locks.db");
  EXPECT_EQ(full.code, make_error_code(errc::rejected));
  EXPECT_EQ(full.detail, "/x/locks.db: the disk is full: database or disk is full (SQLite 13)");
}

TEST(sql_error, without_words_of_the_connection_sqlites_own_are_used) {
  EXPECT_EQ(to_failure(SQLITE_RANGE, "", "").detail, std::string(sqlite3_errstr(SQLITE_RANGE)) + " (SQLite 25)");
}

TEST(sql_error, an_extended_code_says_more_than_its_primary) {
  EXPECT_NE(to_failure(SQLITE_READONLY_DBMOVED, "", "/x").detail.find("moved or deleted"), std::string::npos);
}

}  // namespace holdfast::sqlite_tests
