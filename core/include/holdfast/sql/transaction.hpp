#pragma once

#include <holdfast/options.hpp>
#include <holdfast/sql/connection.hpp>
#include <holdfast/token.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sql {

/// How long acquire_in_transaction waits, and where the row of the name is.
struct row_options {
  /// How long to wait. Unset: acquire_in_transaction waits for ever, try_acquire_in_transaction not at all. PostgreSQL
  /// and MariaDB count milliseconds; MySQL whole seconds, at least one.
  optional_duration wait = {};
  /// The tables of Holdfast: a schema on PostgreSQL, a prefix elsewhere. Empty: `holdfast`, `holdfast_`. They are made
  /// by connect(), or by what `holdfast ddl` prints.
  std::string tables = {};
};

/// Takes the lock `name` inside the transaction that is open on `in`, by locking its row in the table of locks. It ends
/// with the transaction, by COMMIT, ROLLBACK or the end of the connection; and with a ROLLBACK TO a savepoint that is
/// older than it.
///
/// It excludes every other transaction that has taken the name in this way. A name that somebody holds as a lease
/// (`mutex` and its like) is refused with errc::rejected, and cannot be had as one meanwhile. Roll back at once then:
/// on MariaDB and MySQL the row is kept until you do, and the lease cannot be renewed.
///
/// The token is greater than that of every grant before it. A transaction that is rolled back takes its token along,
/// and the next one is drawn from the database's clock: send it to nobody outside before you have committed.
///
/// The caller's settings are afterwards what they were (lock_timeout and statement_timeout; innodb_lock_wait_timeout
/// and max_statement_time), however they were set, and a wait that timed out leaves the transaction as it was: on
/// PostgreSQL by a savepoint (`holdfast_lock`).
///
/// Take it first. What a REPEATABLE READ transaction has read before the lock is as old as that read; on PostgreSQL the
/// lock itself fails there with 40001 whenever it changed hands while it was waited for: use READ COMMITTED. Within one
/// transaction it may be taken again.
///
/// Blocks on: the database, up to options.wait for its turn, and as long again for the row where somebody keeps it
/// locked that does not queue up (PostgreSQL: psql, a lease). Throws holdfast::error: invalid_argument (the name, the
/// wait, or no transaction is open), timed_out, rejected; and statement_failed. If a deadlock or a setting of the
/// server (innodb_rollback_on_timeout) ended the whole transaction on the way, errc::deadlock or errc::lost says so.
HOLDFAST_EXPORT fencing_token acquire_in_transaction(connection& in, std::string_view name,
                                                     const row_options& options = {});

/// The same; nullopt: not obtained within options.wait (none given: at once), and the transaction goes on.
[[nodiscard]] HOLDFAST_EXPORT std::optional<fencing_token> try_acquire_in_transaction(connection& in,
                                                                                      std::string_view name,
                                                                                      const row_options& options = {});

/// How often something is tried that others may come between.
struct retry_options {
  /// At least 1, else errc::invalid_argument. Between two: a pause of a millisecond or so, doubling to a sixteenth of a
  /// second, with jitter.
  unsigned attempts = 20;
};

/// Runs `work` in a transaction of its own and commits it; how many attempts that took.
///
/// `work` returns false to say that it came too late (a version has moved on): its transaction is rolled back and it is
/// called again. The same happens when the database ends the transaction as a deadlock victim or because it cannot put
/// it in order with others: nothing was done then, so nothing is done twice. Everything else comes out of here, after a
/// ROLLBACK; so does a connection that breaks while it commits, when nobody knows what became of it.
///
/// Blocks on: the database. Throws holdfast::error: timed_out (no attempt left), invalid_argument (a transaction is
/// open already, attempts is 0), statement_failed, and what `work` throws.
HOLDFAST_EXPORT unsigned transact(connection& in, const std::function<bool(connection&)>& work,
                                  const retry_options& options = {});

}  // namespace holdfast::sql
