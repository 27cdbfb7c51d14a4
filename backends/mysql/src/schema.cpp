#include "schema.hpp"

#include "mysql.hpp"
#include "shedlock_table.hpp"
#include "tables.hpp"

#include <optional>

namespace holdfast::mysql {

namespace {

std::string meta(const settings& where) { return sql::mysql::table(where.tables, "meta"); }

/// The database that the tables are in.
std::string database_of(const settings& where) {
  return where.tables.schema.empty() ? "DATABASE()" : "'" + where.tables.schema + "'";
}

/// What is made, in words.
std::string tables_of(const settings& where) {
  if (!where.tables.shares()) return "the tables '" + where.tables.prefix + "...'";
  return "what goes with ShedLock's table '" + where.tables.shown_table() +
         "' (`holdfast ddl mysql --layout shedlock` prints it)";
}

failure told(const settings& where, const failure& why, const std::string& what) {
  return {why.code, "mysql " + where.shown() + ": " + what + why.detail};
}

/// Empty: there are none.
result<std::optional<std::int64_t>> version_of(connection& over, const settings& where,
                                               connection::clock::time_point deadline) {
  // Those it may not see are not there either, for who asks.
  auto there = over.run("SELECT count(*) FROM information_schema.tables WHERE table_schema = " + database_of(where) +
                            " AND table_name = '" + where.tables.prefix + "meta'",
                        deadline);
  if (!there) return there.error();
  if (there->integer(0, 0) == 0) return std::optional<std::int64_t>();
  auto found = over.run(
      "SELECT number FROM " + meta(where) + " WHERE what = '" + sql::mysql::version_key(where.tables) + "'", deadline);
  if (!found) return found.error();
  if (found->size() == 0) return std::optional<std::int64_t>();
  return std::optional(found->integer(0, 0));
}

result<bool> up_to_date(connection& over, const settings& where, connection::clock::time_point deadline) {
  const auto version = version_of(over, where, deadline);
  if (!version) return version.error();
  if (!*version || **version < sql::schema_version) return false;
  if (**version == sql::schema_version) return true;
  return failure{errc::rejected, tables_of(where) + " was made by a newer Holdfast (version " +
                                     std::to_string(**version) + "; this one knows " +
                                     std::to_string(sql::schema_version) + ")"};
}

result<void> make(connection& over, const settings& where, connection::clock::time_point deadline) {
  const auto good = up_to_date(over, where, deadline);
  if (!good) return good.error();
  if (*good) return {};  // somebody else was faster
  for (const auto& one : sql::mysql::statements(where.tables))
    if (auto made = over.run(one, deadline); !made) return made.error();
  return {};
}

/// What a server must be like for locks to hold.
result<void> check_server(connection& over, connection::clock::time_point deadline) {
  auto said = over.run("SELECT DATABASE()", deadline);
  if (!said) return said.error();
  if (said->text(0, 0).empty())
    return {errc::invalid_argument, "neither the URL nor my.cnf names a database; write mysql://user@host/DATABASE"};
  auto cluster = over.run("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'", deadline);
  if (!cluster) return cluster.error();
  if (cluster->size() == 1 && cluster->text(0, 1) == "ON")
    return {errc::unsupported,
            "the server is part of a Galera cluster (wsrep_on): rows locked on one node are not locked on the others, "
            "and GET_LOCK knows one node only; use a single server"};
  return {};
}

/// ShedLock's table, if it is there. Routines are made for the collation of its names.
result<std::string> collation_of(connection& over, const settings& where, connection::clock::time_point deadline) {
  const auto found = over.run(sql::shedlock_columns(database_of(where), "'" + where.tables.shedlock + "'"), deadline);
  if (!found) return found.error();
  if (found->size() == 0) return std::string(sql::mysql::usual_collation);
  auto good = sql::check_shedlock(*found, where.tables.shown_table());
  if (good && good->empty()) return std::string("binary");
  return good;
}

}  // namespace

result<void> make_schema(connection& over, settings where, connection::clock::time_point deadline) {
  if (auto fit = check_server(over, deadline); !fit) return told(where, fit.error(), "");
  if (where.tables.shares()) {
    auto collation = collation_of(over, where, deadline);
    if (!collation) return told(where, collation.error(), "");
    where.tables.collation = std::move(*collation);
  }
  const auto good = up_to_date(over, where, deadline);
  if (!good) return told(where, good.error(), "");
  if (*good) return {};
  // Every statement that makes something ends the transaction before it: only a lock beside the tables keeps others
  // out.
  const std::string lock = "'" + std::string(sql::mysql::making_lock) + "'";
  const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - connection::clock::now()).count();
  auto alone =
      over.run("SELECT GET_LOCK(" + lock + ", " + std::to_string(std::max<std::int64_t>(left, 0)) + ")", deadline);
  if (!alone) return told(where, alone.error(), "");
  if (alone->integer(0, 0) != 1)
    return failure{errc::unavailable, "mysql " + where.shown() + ": somebody else is making the tables"};
  auto made = make(over, where, deadline);
  auto ended = over.run("DO RELEASE_LOCK(" + lock + ")", deadline);
  if (!made) return told(where, made.error(), tables_of(where) + " could not be made: ");
  if (!ended) return told(where, ended.error(), "");
  return {};
}

result<std::string> identity_of(connection& over, const settings& where, connection::clock::time_point deadline) {
  auto found = over.run("SELECT number FROM " + meta(where) + " WHERE what = 'identity'", deadline);
  if (!found) return told(where, found.error(), "");
  return "mysql:" + (found->size() == 1 ? found->text(0, 0) : where.shown() + "/" + where.tables.prefix);
}

}  // namespace holdfast::mysql
