#pragma once

#include <holdfast/sql/connection.hpp>
#include <holdfast/token.hpp>

#include <string>
#include <vector>

namespace holdfast::sql {

/// What became of a write with a token.
enum class admission {
  admitted,  ///< Written, and the row remembers the token.
  refused,   ///< A newer token has written: whoever holds this one has lost its lock, and must stop.
  missing,   ///< There is no such row.
};

/// A table of the caller's whose rows remember the newest fencing token that wrote them, and that no older one can
/// write: the check is a condition of the UPDATE itself, so that nothing can happen between the two.
///
/// What is read before the write is not protected by it: an older holder may write in between, as long as the newer one
/// has not. Whoever changes what it reads lets its token in first, with write() and no changes, then reads, and then
/// writes, all in one transaction.
///
/// The column is a BIGINT, NOT NULL, 0 at first. In plain SQL:
///
///     UPDATE stock SET units = :units, fence = :token WHERE id = :id AND fence <= :token;
///
/// Thread safety: safe, with a connection each. Blocks on: the database.
class HOLDFAST_EXPORT fenced_table {
 public:
  struct options {
    std::string table;
    std::string schema = {};  ///< Empty: where the connection looks first.
    std::string fence = "fence";
  };
  using key = std::vector<field>;  ///< Columns that name one row, all of them NOT NULL.

  /// Throws holdfast::error: invalid_argument (a name is empty or has a zero byte).
  explicit fenced_table(options where);

  /// Writes `changes` unless a newer token has written; an equal one is admitted again. Also inside a transaction of
  /// the caller's. Throws holdfast::error: invalid_argument (token 0, which no grant has; changes that name the fence;
  /// a key that names several rows, which are written by then unless a transaction is rolled back), statement_failed.
  [[nodiscard]] admission write(connection& in, const key& which, fencing_token token,
                                const std::vector<field>& changes) const;

 private:
  options where_;
};

}  // namespace holdfast::sql
