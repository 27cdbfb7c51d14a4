#pragma once

#include <holdfast/sql/connection.hpp>
#include <holdfast/sql/transaction.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sql {

/// A table of the caller's with a version in each row: the optimistic lock. Nobody waits; who comes late tries again.
///
/// The version is an integer column, NOT NULL, that every writer raises: those who write without it are not noticed.
/// Names of tables and columns are quoted, so they are spelled exactly as the database has them; values are parameters.
///
/// Thread safety: safe, with a connection each. Blocks on: the database.
class HOLDFAST_EXPORT versioned_table {
 public:
  struct options {
    std::string table;
    std::string schema = {};  ///< Empty: where the connection looks first.
    std::string version = "version";
  };
  struct snapshot {
    row values;  ///< Of the columns asked for, in that order.
    std::int64_t version = 0;
  };
  using key = std::vector<field>;  ///< Columns that name one row, all of them NOT NULL.
  /// What is to be written; empty: nothing. Called again with what is newer, so free of side effects.
  using change = std::function<std::vector<field>(const snapshot&)>;

  /// Throws holdfast::error: invalid_argument (a name is empty or has a zero byte).
  explicit versioned_table(options where);

  /// nullopt: there is no such row. Throws holdfast::error: invalid_argument (the key names several), statement_failed.
  std::optional<snapshot> load(connection& in, const key& which, const std::vector<std::string>& columns) const;

  /// Writes `changes` and raises the version, if it is still `version`; false: somebody else wrote meanwhile, or the
  /// row is gone. Also inside a transaction of the caller's. Throws as load.
  [[nodiscard]] bool compare_exchange(connection& in, const key& which, std::int64_t version,
                                      const std::vector<field>& changes) const;

  /// load() and compare_exchange(), again and again until nobody came between; the version it wrote. nullopt: there is
  /// no such row, or `make` wanted nothing written.
  ///
  /// Not inside a transaction, which might see the same old row for ever: use transact() with the two steps. Throws
  /// holdfast::error: timed_out (no attempt left), invalid_argument (a transaction is open), and as load; and what
  /// `make` throws. An UPDATE that the database ended as a deadlock victim is tried again.
  std::optional<std::int64_t> update(connection& in, const key& which, const std::vector<std::string>& columns,
                                     const change& make, const retry_options& how = {}) const;

 private:
  options where_;
};

}  // namespace holdfast::sql
