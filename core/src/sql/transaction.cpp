#include <holdfast/sql/transaction.hpp>

#include "../back_off.hpp"
#include "../name.hpp"
#include "refusal.hpp"
#include "taking.hpp"
#include "text.hpp"

#include <charconv>
#include <thread>

namespace holdfast::sql {

namespace detail {

void taking::fail(refusal why) const {
  if (lacks_tables(in.speaks(), why.code)) {
    const bool postgresql = in.speaks() == flavour::postgresql;
    why.words += "; holdfast::connect() makes the tables, or what `holdfast ddl " +
                 std::string(postgresql ? "postgresql" : "mysql") + "` prints";
  }
  throw statement_failed(in.speaks(), why, operation, name);
}

reply taking::ask(const std::string& statement, const std::vector<value>& values) const {
  reply got = in.execute(statement, values);
  if (got.refused) fail(*got.refused);
  return got;
}

fencing_token taking::token_of(const row& answer, const std::string& holders) const {
  if (answer.at(1) != "0" || (answer.at(2) != "0" && ask(holders, {value::bytes(name)}).rows.at(0).at(0) != "0")) {
    throw error({errc::rejected,
                 "somebody holds the name as a lease (scheme=lease), which a row cannot wait for; "
                 "roll back, and use one of the two for this name"},
                operation, name);
  }
  std::uint64_t token = 0;
  const std::string digits = answer.at(0).value_or("");
  std::from_chars(digits.data(), digits.data() + digits.size(), token);
  return token;
}

}  // namespace detail

namespace {

std::optional<fencing_token> take(connection& in, const char* operation, std::string_view name,
                                  const row_options& options, optional_duration wait) {
  detail::taking what{in, operation, std::string(name), options.tables, wait};
  if (auto good = holdfast::detail::check_name(name); !good) throw error(good.error(), operation, what.name);
  if (wait.has_value() && wait.value().count() < 0)
    throw error({errc::invalid_argument, "wait is negative; 0 is not to wait at all"}, operation, what.name);
  if (in.state() == transaction_state::none)
    throw error({errc::invalid_argument, "no transaction is open on this connection: BEGIN first"}, operation,
                what.name);
  const bool postgresql = in.speaks() == flavour::postgresql;
  if (what.tables.empty()) what.tables = postgresql ? "holdfast" : "holdfast_";
  detail::check_identifier(what.tables, "tables");
  const auto token = postgresql ? detail::take_in_postgresql(what) : detail::take_in_mysql(what);
  if (token && in.state() != transaction_state::open)
    throw error({errc::lost, "the transaction had ended before, by an error: nothing is locked"}, operation, what.name);
  return token;
}

/// That it fails means that the connection is gone, which does the same.
void undo(connection& in) {
  if (in.state() != transaction_state::none) in.execute("ROLLBACK", {});
}

/// Once, from BEGIN to COMMIT. False: it came too late, or the database has undone it.
bool attempt(connection& in, const std::function<bool(connection&)>& work) {
  run(in, "BEGIN", {}, "transact");
  bool done = false;
  try {
    done = work(in);
    // PostgreSQL takes a COMMIT of what has failed for a ROLLBACK, and says that all is well.
    if (done && in.state() != transaction_state::open)
      throw error({errc::rejected, "a statement in the transaction has failed, or ended it"}, "transact", {});
    if (done) run(in, "COMMIT", {}, "transact");
  } catch (const statement_failed& why) {
    undo(in);
    if (!why.retryable()) throw;
    return false;
  } catch (...) {
    undo(in);
    throw;
  }
  if (!done) run(in, "ROLLBACK", {}, "transact");
  return done;
}

}  // namespace

fencing_token acquire_in_transaction(connection& in, std::string_view name, const row_options& options) {
  constexpr const char* operation = "acquire_in_transaction";
  if (const auto token = take(in, operation, name, options, options.wait)) return *token;
  throw error({errc::timed_out, "somebody else keeps the row locked"}, operation, std::string(name));
}

std::optional<fencing_token> try_acquire_in_transaction(connection& in, std::string_view name,
                                                        const row_options& options) {
  return take(in, "try_acquire_in_transaction", name, options, options.wait.value_or(std::chrono::nanoseconds::zero()));
}

unsigned transact(connection& in, const std::function<bool(connection&)>& work, const retry_options& options) {
  if (options.attempts == 0) throw error({errc::invalid_argument, "attempts is 0"}, "transact", {});
  if (in.state() != transaction_state::none)
    throw error({errc::invalid_argument, "a transaction is open on this connection already"}, "transact", {});
  for (unsigned tries = 1;; ++tries) {
    if (attempt(in, work)) return tries;
    if (tries == options.attempts)
      throw error({errc::timed_out, "others came between in each of " + std::to_string(tries) + " attempts"},
                  "transact", {});
    std::this_thread::sleep_for(holdfast::detail::back_off(tries - 1) / 8);
  }
}

}  // namespace holdfast::sql
