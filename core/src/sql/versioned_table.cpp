#include <holdfast/sql/versioned_table.hpp>

#include "../back_off.hpp"
#include "text.hpp"

#include <charconv>
#include <thread>

namespace holdfast::sql {

namespace {

[[noreturn]] void refuse_key(const char* operation, const std::string& table, std::uint64_t rows) {
  throw error({errc::invalid_argument, "the key names " + std::to_string(rows) + " rows or more; it must name one"},
              operation, table);
}

std::int64_t number_of(const std::optional<std::string>& digits, const char* operation,
                       const versioned_table::options& where) {
  std::int64_t number = 0;
  const char* const end = digits ? digits->data() + digits->size() : nullptr;
  const auto read = digits ? std::from_chars(digits->data(), end, number) : std::from_chars_result{};
  if (!digits || read.ptr != end || read.ec != std::errc())
    throw error({errc::invalid_argument, "column '" + where.version + "' is not an integer"}, operation, where.table);
  return number;
}

}  // namespace

versioned_table::versioned_table(options where) : where_(std::move(where)) {
  detail::check_identifier(where_.table, "table");
  detail::check_identifier(where_.version, "version");
}

std::optional<versioned_table::snapshot> versioned_table::load(connection& in, const key& which,
                                                               const std::vector<std::string>& columns) const {
  detail::composition ask(in.speaks());
  ask.put("SELECT ").name(where_.version);
  for (const auto& column : columns) ask.put(", ").name(column);
  ask.put(" FROM ").put(detail::quoted_table(in.speaks(), where_.schema, where_.table)).put(" WHERE ");
  ask.condition(which).put(" LIMIT 2");
  auto got = run(in, ask.text(), ask.values(), "load");
  if (got.rows.empty()) return std::nullopt;
  if (got.rows.size() > 1) refuse_key("load", where_.table, got.rows.size());
  row& found = got.rows[0];
  snapshot seen{{}, number_of(found.at(0), "load", where_)};
  seen.values.assign(std::make_move_iterator(found.begin() + 1), std::make_move_iterator(found.end()));
  return seen;
}

bool versioned_table::compare_exchange(connection& in, const key& which, std::int64_t version,
                                       const std::vector<field>& changes) const {
  detail::check_not_among(where_.version, changes, "compare_exchange", where_.table);
  detail::composition ask(in.speaks());
  const std::string column = detail::quoted(in.speaks(), where_.version);
  ask.put("UPDATE ").put(detail::quoted_table(in.speaks(), where_.schema, where_.table)).put(" SET ");
  ask.assignments(changes).put(changes.empty() ? "" : ", ").put(column).put(" = ").put(column).put(" + 1 WHERE ");
  ask.condition(which).put(" AND ").put(column).put(" = ").place(version);
  const auto written = run(in, ask.text(), ask.values(), "compare_exchange").affected;
  if (written > 1) refuse_key("compare_exchange", where_.table, written);
  return written == 1;
}

std::optional<std::int64_t> versioned_table::update(connection& in, const key& which,
                                                    const std::vector<std::string>& columns, const change& make,
                                                    const retry_options& how) const {
  if (how.attempts == 0) throw error({errc::invalid_argument, "attempts is 0"}, "update", where_.table);
  if (in.state() != transaction_state::none) {
    throw error({errc::invalid_argument,
                 "a transaction is open, which might see the same old row for ever; use "
                 "transact() with load() and compare_exchange()"},
                "update", where_.table);
  }
  for (unsigned tries = 1;; ++tries) {
    try {
      const auto seen = load(in, which, columns);
      if (!seen) return std::nullopt;
      const auto changes = make(*seen);
      if (changes.empty()) return std::nullopt;
      if (compare_exchange(in, which, seen->version, changes)) return seen->version + 1;
    } catch (const statement_failed& why) {
      if (!why.retryable()) throw;  // each statement was a transaction of its own: the one that failed did nothing
    }
    if (tries == how.attempts)
      throw error({errc::timed_out, "others wrote first in each of " + std::to_string(tries) + " attempts"}, "update",
                  where_.table);
    std::this_thread::sleep_for(holdfast::detail::back_off(tries - 1) / 8);
  }
}

}  // namespace holdfast::sql
