#pragma once

#include <holdfast/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sql {

/// What a database understands.
enum class flavour {
  postgresql,
  mariadb,
  mysql,
};

/// What stands in a place of a statement. It travels beside the text, never in it.
class value {
 public:
  enum class form { null, integer, unsigned_integer, text, bytes };

  value(std::nullptr_t) noexcept {}
  /// Not for characters, whose numbers nobody means.
  template <std::integral Number>
    requires(!std::same_as<Number, char> && !std::same_as<Number, wchar_t> && !std::same_as<Number, char8_t> &&
             !std::same_as<Number, char16_t> && !std::same_as<Number, char32_t>)
  value(Number number)
      : is_(std::signed_integral<Number> ? form::integer : form::unsigned_integer), text_(std::to_string(number)) {}
  value(std::string text) : is_(form::text), text_(std::move(text)) {}
  value(std::string_view text) : value(std::string(text)) {}
  value(const char* text) : value(std::string(text)) {}
  /// For bytea, BLOB and VARBINARY.
  static value bytes(std::string all) {
    value made(std::move(all));
    made.is_ = form::bytes;
    return made;
  }

  form is() const noexcept { return is_; }
  const std::string& text() const noexcept { return text_; }  ///< A number in decimal; of NULL empty.

 private:
  form is_ = form::null;
  std::string text_;
};

/// A column and what is in it, or is to be.
struct field {
  std::string column;
  value holds;
};

/// A row as the database answered it: text, or nothing for NULL. Bytes come as they are.
using row = std::vector<std::optional<std::string>>;

/// Why a statement failed, in the database's own words.
struct refusal {
  std::string code;   ///< PostgreSQL: the SQLSTATE. MariaDB, MySQL: the number. Empty: the connection failed.
  std::string words;  ///< No password. A database may quote a value that it refuses (a duplicate key, say).
};

/// What came of a statement.
struct reply {
  std::vector<row> rows = {};
  std::uint64_t affected = 0;  ///< Rows it inserted, changed or deleted. MySQL leaves out those that stayed equal.
  std::optional<refusal> refused = {};  ///< Set: it failed, and there is nothing else.
};

/// Is a transaction of the caller open?
enum class transaction_state {
  none,    ///< Every statement is one of its own.
  open,    ///< Also where statements do not commit by themselves (MySQL's autocommit = 0).
  failed,  ///< PostgreSQL: an error has ended it, and nothing but ROLLBACK will do.
};

/// A connection of the caller's, as everything in holdfast::sql uses it. Nothing in here opens, closes or keeps one.
///
/// holdfast::postgres::connection_of and holdfast::mysql::connection_of make one of a PGconn* or MYSQL*. To use another
/// driver, derive from this: each member is about one call of the driver.
///
/// Thread safety: none, as with the connection itself. Blocks on: the database.
class HOLDFAST_EXPORT connection {
 public:
  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection();

  virtual flavour speaks() const = 0;
  /// The truth, also after an error: MySQL ends the transaction with some of them, and says so only with its next
  /// answer.
  virtual transaction_state state() = 0;
  /// One statement, with `$1`, `$2` (PostgreSQL) or `?` (MariaDB, MySQL) for the values in order. Does not throw for
  /// what the database says.
  virtual reply execute(const std::string& statement, const std::vector<value>& values) = 0;
};

/// A statement failed. The code says what kind of failure it is:
///
///     deadlock      a deadlock victim (40P01; 1213, 3058)
///     timed_out     a lock or the statement took longer than its limit (55P03; 1205, 3572, 1969, 3024)
///     cancelled     somebody cancelled it (57014, which is also statement_timeout; 1317)
///     unavailable   the connection is gone, the server stops or is read-only, or it could not put the transaction in
///                   order with others (40001; 1020)
///     rejected      everything else: no such table, no right, a value that does not fit
///
/// detail() ends with the native code.
///
/// Thread safety: as a value.
class HOLDFAST_EXPORT statement_failed : public error {
 public:
  /// `operation` and `name` as those of error.
  statement_failed(flavour from, const refusal& why, std::string operation, std::string name);
  ~statement_failed() override;

  const std::string& native() const noexcept { return native_; }  ///< SQLSTATE or number; empty: the connection.
  /// Deadlock victims and serialization failures: after a ROLLBACK the whole transaction may be tried again.
  bool retryable() const noexcept { return retryable_; }

 private:
  std::string native_;
  bool retryable_ = false;
};

/// execute() that throws statement_failed. `operation` is what errors begin with.
HOLDFAST_EXPORT reply run(connection& in, const std::string& statement, const std::vector<value>& values = {},
                          const char* operation = "run");

}  // namespace holdfast::sql
