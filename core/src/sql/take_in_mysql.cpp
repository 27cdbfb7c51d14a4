#include "refusal.hpp"
#include "taking.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace holdfast::sql::detail {

namespace {

// In UTC, whatever the session's zone is: hours that come twice would not be told apart. It is the time at which the
// statement starts, so no statement that waits may use it.
constexpr std::string_view now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

constexpr std::int64_t for_ever = 100'000'000;  // as innodb_lock_wait_timeout

std::string table(const taking& what, std::string_view name) {
  return quoted(what.in.speaks(), what.tables + std::string(name));
}

/// Makes the row, or locks the one there is.
reply lock_row(const taking& what, const std::string& before = {}) {
  return what.in.execute(before + "INSERT INTO " + table(what, "locks") +
                             "(name, kind, fence) VALUES(?, 1, 0) ON DUPLICATE KEY UPDATE kind = kind",
                         {value::bytes(what.name)});
}

std::int64_t whole_seconds(optional_duration wait, std::int64_t least) {
  if (!wait.has_value()) return for_ever;
  return std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(wait.value()).count(), least, for_ever);
}

/// MariaDB sets variables for one statement, and sets them back whatever becomes of it. Its limit for statements counts
/// parts of a second.
reply lock_row_within(const taking& what) {
  using std::chrono::microseconds;
  constexpr microseconds longest = std::chrono::hours(24 * 365);
  const auto limit =
      what.wait.has_value() ? std::min(std::chrono::ceil<microseconds>(what.wait.value()), longest) : microseconds(0);
  // By hand: what the C library prints may have a comma, as the locale has it.
  std::string parts = std::to_string(limit.count() % 1'000'000);
  parts.insert(0, 6 - parts.size(), '0');
  return lock_row(what, "SET STATEMENT innodb_lock_wait_timeout=" + std::to_string(whole_seconds(what.wait, 0)) +
                            ", max_statement_time=" + std::to_string(limit.count() / 1'000'000) + "." + parts +
                            " FOR ");
}

/// MySQL has a limit in whole seconds, which is to be set back by hand.
reply lock_row_and_set_back(const taking& what) {
  const std::string before = what.ask("SELECT @@SESSION.innodb_lock_wait_timeout").rows.at(0).at(0).value_or("50");
  what.ask("SET SESSION innodb_lock_wait_timeout = " + std::to_string(whole_seconds(what.wait, 1)));
  reply got = lock_row(what);
  if (!got.refused || !got.refused->code.empty()) what.ask("SET SESSION innodb_lock_wait_timeout = " + before);
  return got;
}

}  // namespace

std::optional<fencing_token> take_in_mysql(const taking& what) {
  const flavour speaks = what.in.speaks();
  const reply locked = speaks == flavour::mariadb ? lock_row_within(what) : lock_row_and_set_back(what);
  if (locked.refused) {
    if (!waited_in_vain(speaks, locked.refused->code)) what.fail(*locked.refused);
    // A wait that timed out undoes its statement and nothing else, unless the server was told otherwise. With
    // autocommit = 0 a transaction is open all the same: the next one.
    const bool open = what.in.state() == transaction_state::open;
    if (open && what.ask("SELECT @@GLOBAL.innodb_rollback_on_timeout").rows.at(0).at(0) == "0") return std::nullopt;
    throw error({errc::lost,
                 "the wait timed out, and the server rolled the whole transaction back "
                 "(innodb_rollback_on_timeout)"},
                what.operation, what.name);
  }
  const value name = value::bytes(what.name);
  const std::string clock(now);
  what.ask("UPDATE " + table(what, "locks") + " SET fence = GREATEST(fence + 1, " + clock + ") WHERE name = ?", {name});
  // With locks: what others have committed since the transaction's snapshot is to be seen.
  const auto got = what.ask("SELECT l.fence, (l.owner IS NOT NULL AND l.expires > " + clock + "), l.shares FROM " +
                                table(what, "locks") + " AS l WHERE l.name = ? FOR UPDATE",
                            {name});
  return what.token_of(got.rows.at(0), "SELECT count(*) FROM " + table(what, "holds") +
                                           " WHERE name = ? AND expires > " + clock + " LOCK IN SHARE MODE");
}

}  // namespace holdfast::sql::detail
