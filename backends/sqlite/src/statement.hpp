#pragma once

#include "sql_error.hpp"

#include <holdfast/backend.hpp>

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace holdfast::sqlite {

/// Bytes that are not text.
struct blob {
  std::string_view bytes;
};

/// The rows of a statement that runs. Resets the statement when it goes; commit errors of a statement that stands alone
/// come from the call of next() that returns false, so read to the end what must be durable.
class rows {
 public:
  explicit rows(sqlite3_stmt* running) noexcept : running_(running) {}
  rows(rows&& other) noexcept : running_(other.running_) { other.running_ = nullptr; }
  rows& operator=(rows&&) = delete;
  ~rows() {
    if (running_ != nullptr) sqlite3_reset(running_);
  }

  /// False when there are no more. Throws sql_error.
  bool next();

  bool null(int column) const noexcept { return sqlite3_column_type(running_, column) == SQLITE_NULL; }
  std::int64_t integer(int column) const noexcept { return sqlite3_column_int64(running_, column); }
  std::uint32_t small(int column) const noexcept { return static_cast<std::uint32_t>(integer(column)); }
  std::string_view text(int column) const noexcept;  ///< Until the next call of next(). Blobs too.
  spi::owner_id id(int column) const noexcept;       ///< All zero if it is NULL or of another size.

 private:
  sqlite3_stmt* running_;
};

/// One SQL statement, prepared when it is first used: a short-lived program pays only for those it needs.
///
/// Text and ids are bound where they lie: they must live as long as the rows.
class statement {
 public:
  statement(sqlite3* db, const char* sql) noexcept : db_(db), sql_(sql) {}
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;
  ~statement() { sqlite3_finalize(prepared_); }

  /// Binds ?1, ?2, ... and starts. Throws sql_error.
  template <class... Values>
  rows operator()(const Values&... values) {
    if (prepared_ == nullptr) prepare();
    int index = 0;
    (bind(++index, values), ...);
    return rows(prepared_);
  }

  /// Runs it to the end; how many rows it changed.
  template <class... Values>
  int run(const Values&... values) {
    rows r = (*this)(values...);
    while (r.next()) {
    }
    return sqlite3_changes(db_);
  }

 private:
  void prepare();
  void bind(int index, std::integral auto value) {
    sqlite3_bind_int64(prepared_, index, static_cast<std::int64_t>(value));
  }
  void bind(int index, std::nullptr_t) { sqlite3_bind_null(prepared_, index); }
  void bind(int index, std::string_view value) {
    sqlite3_bind_text(prepared_, index, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void bind(int index, blob value) {
    // Never a null pointer: that would be NULL, not an empty value.
    const char* start = value.bytes.empty() ? "" : value.bytes.data();
    sqlite3_bind_blob(prepared_, index, start, static_cast<int>(value.bytes.size()), SQLITE_STATIC);
  }
  void bind(int index, const spi::owner_id& value) {
    sqlite3_bind_blob(prepared_, index, value.bytes.data(), static_cast<int>(value.bytes.size()), SQLITE_STATIC);
  }
  template <class T>
  void bind(int index, const std::optional<T>& value) {
    if (value)
      bind(index, *value);
    else
      bind(index, nullptr);
  }

  sqlite3* db_;
  const char* sql_;
  sqlite3_stmt* prepared_ = nullptr;
};

}  // namespace holdfast::sqlite
