#include "refusal.hpp"
#include "taking.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::sql::detail {

namespace {

constexpr std::string_view now = "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint";

/// As lock_timeout has it. 0 there is for ever: not to wait at all is to wait for the least. It counts waiting only.
std::string milliseconds(optional_duration wait) {
  if (!wait.has_value()) return "0";
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(wait.value()).count();
  return std::to_string(std::clamp<std::int64_t>(whole, 1, 2'147'483'647));
}

/// Sets both limits until the transaction ends or says otherwise; what they were, as the server spells it: '5s' and
/// '5000' are the same to it, and so it is told its own words later. The wait is not to be cut short by the limit for
/// statements.
row limit_waits(const taking& what) {
  const std::string limit = milliseconds(what.wait);
  return what
      .ask(
          "WITH before AS MATERIALIZED (SELECT pg_catalog.current_setting('lock_timeout') AS lock, "
          "pg_catalog.current_setting('statement_timeout') AS statement) "
          "SELECT lock, statement, pg_catalog.set_config('lock_timeout', $1, true), "
          "pg_catalog.set_config('statement_timeout', '0', true) FROM before",
          {limit})
      .rows.at(0);
}

/// Locks the row and draws a token, for which the clock is looked at when the row is ours; and restores the settings in
/// the same statement, as nothing waits after it.
fencing_token lock_row(const taking& what, const row& before) {
  const std::string schema = quoted(flavour::postgresql, what.tables);
  const std::string draw = "UPDATE " + schema + ".locks AS l SET fence = greatest(l.fence + 1, " + std::string(now) +
                           ") WHERE l.name = $1 RETURNING l.fence, (l.owner IS NOT NULL AND l.expires > " +
                           std::string(now) +
                           ")::int, l.shares, pg_catalog.set_config('lock_timeout', $2, true), "
                           "pg_catalog.set_config('statement_timeout', $3, true)";
  // In a statement of its own: one that had to wait for the row sees other tables as they were before.
  const std::string shares =
      "SELECT count(*) FROM " + schema + ".holds AS h WHERE h.name = $1 AND h.expires > " + std::string(now);
  // Not made and drawn in one: what is inserted after a wait would have the time of before it.
  const std::string make =
      "INSERT INTO " + schema + ".locks(name, kind, fence) VALUES($1, 1, 0) ON CONFLICT DO NOTHING";
  // Rows that change all the time are given out in no order, and to all who wait at once; advisory locks in turn. It is
  // the one by which the calls of `?scheme=lease` queue up for this row, and comes before the row as it does there.
  what.ask(
      "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext($1), "
      "pg_catalog.hashtext(pg_catalog.encode($2, 'hex')))",
      {schema, value::bytes(what.name)});
  for (;;) {
    const auto got = what.ask(draw, {value::bytes(what.name), before.at(0).value_or("0"), before.at(1).value_or("0")});
    if (!got.rows.empty()) return what.token_of(got.rows[0], shares);
    what.ask(make, {value::bytes(what.name)});
  }
}

void go_back(const taking& what) {
  what.ask("ROLLBACK TO SAVEPOINT holdfast_lock");
  what.ask("RELEASE SAVEPOINT holdfast_lock");
}

}  // namespace

std::optional<fencing_token> take_in_postgresql(const taking& what) {
  // An error ends the transaction but for what is after a savepoint. To go back to it restores the settings too; to go
  // on keeps both the row and them.
  what.ask("SAVEPOINT holdfast_lock");
  try {
    const row before = limit_waits(what);
    const fencing_token token = lock_row(what, before);
    what.ask("RELEASE SAVEPOINT holdfast_lock");
    return token;
  } catch (const statement_failed& why) {
    if (why.native().empty()) throw;  // the connection is gone, and the transaction with it
    go_back(what);
    if (!waited_in_vain(flavour::postgresql, why.native())) throw;
    return std::nullopt;
  } catch (...) {
    go_back(what);
    throw;
  }
}

}  // namespace holdfast::sql::detail
