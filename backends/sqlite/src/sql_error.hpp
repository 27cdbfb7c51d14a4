#pragma once

#include <holdfast/error.hpp>

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace holdfast::sqlite {

/// SQLite said no. Thrown by statements and caught where a transaction ends (transactions, open_database), which
/// rolls back and makes a failure of it: a transaction is a dozen statements long, and each of them can fail in the
/// same few ways. Never leaves this backend.
struct sql_error {
  int code = SQLITE_ERROR;  ///< Extended result code.
  std::string text;         ///< SQLite's own words.
};

/// What an SQLite result code means to the caller. The one place where codes are mapped; errc::unavailable only where
/// sending the same request again can help.
errc to_errc(int code) noexcept;

/// The failure for a code: which file, what it means, SQLite's own words and number.
failure to_failure(int code, std::string_view text, std::string_view path);

/// Throws sql_error unless `code` is SQLITE_OK, SQLITE_ROW or SQLITE_DONE.
void check(int code, sqlite3* db);

}  // namespace holdfast::sqlite
