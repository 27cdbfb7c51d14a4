#include "schema.hpp"

#include "postgresql.hpp"
#include "shedlock_table.hpp"
#include "tables.hpp"

#include <optional>
#include <string>

namespace holdfast::postgres {

namespace {

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

/// What is made, in words.
std::string tables_of(const settings& where) {
  if (!where.tables.shares()) return "the tables of schema '" + where.tables.schema + "'";
  return "what goes with ShedLock's table '" + where.tables.shown_table() +
         "' (`holdfast ddl postgresql --layout shedlock` prints it)";
}

/// Empty: there are none.
result<std::optional<std::int64_t>> version_of(connection& over, const settings& where,
                                               connection::clock::time_point deadline) {
  // A question whose answer is no error, also inside a transaction.
  const std::string table = sql::postgresql::table(where.tables, "meta");
  auto there = over.run("SELECT to_regclass(" + literal(table) + ") IS NOT NULL", deadline);
  if (!there) return there.error();
  if (there->text(0, 0) != "t") return std::optional<std::int64_t>();
  auto found = over.run("SELECT number FROM " + table + " WHERE what = 'version'", deadline);
  if (!found) return found.error();
  if (found->size() == 0) return std::optional<std::int64_t>();
  return std::optional(found->integer(0, 0));
}

result<bool> up_to_date(connection& over, const settings& where, connection::clock::time_point deadline) {
  const auto version = version_of(over, where, deadline);
  if (!version) return version.error();
  if (!*version || **version < sql::schema_version) return false;
  if (**version == sql::schema_version) return true;
  return failure{errc::rejected, "postgresql " + where.shown() + ": " + tables_of(where) +
                                     " was made by a newer Holdfast (version " + std::to_string(**version) +
                                     "; this one knows " + std::to_string(sql::schema_version) + ")"};
}

result<void> check_shared(connection& over, const settings& where, connection::clock::time_point deadline) {
  if (!where.tables.shares()) return {};
  const auto found =
      over.run(sql::shedlock_columns(literal(where.tables.schema), literal(where.tables.shedlock)), deadline);
  if (!found) return found.error();
  const auto good = sql::check_shedlock(found->plain(), where.tables.shown_table());
  if (!good) return failure{good.error().code, "postgresql " + where.shown() + ": " + good.error().detail};
  return {};
}

result<void> make(connection& over, const settings& where, connection::clock::time_point deadline) {
  const std::string lock(sql::postgresql::making_lock);
  if (auto alone = over.run("SELECT pg_advisory_xact_lock(" + lock + ")", deadline); !alone) return alone.error();
  const auto good = up_to_date(over, where, deadline);
  if (!good) return good.error();
  if (*good) return {};  // somebody else was faster
  for (const auto& one : sql::postgresql::statements(where.tables)) {
    // To make a schema that is there is forbidden to who may make none, even if nothing is to be done.
    if (one.starts_with("CREATE SCHEMA")) {
      auto there = over.run("SELECT 1 FROM pg_namespace WHERE nspname = current_setting('holdfast.schema')", deadline);
      if (there && there->size() == 1) continue;
      if (!there) return there.error();
    }
    if (auto made = over.run(one, deadline); !made) return made.error();
  }
  return {};
}

}  // namespace

result<void> make_schema(connection& over, const settings& where, connection::clock::time_point deadline) {
  if (auto fit = check_shared(over, where, deadline); !fit) return fit;
  const auto good = up_to_date(over, where, deadline);
  if (!good) return good.error();
  if (*good) return {};
  if (auto begun = over.run("BEGIN; SELECT set_config('lock_timeout', '0', true), set_config('holdfast.schema', " +
                                literal(where.tables.schema) + ", true)",
                            deadline);
      !begun)
    return begun.error();
  auto made = make(over, where, deadline);
  auto ended = over.run(made ? "COMMIT" : "ROLLBACK", deadline);
  if (!made) {
    auto why = made.error();
    why.detail = "postgresql " + where.shown() + ": " + tables_of(where) + " could not be made: " + why.detail;
    return why;
  }
  if (!ended) return ended.error();
  return {};
}

}  // namespace holdfast::postgres
