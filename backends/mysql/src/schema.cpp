#include "schema.hpp"

#include "mysql.hpp"
#include "tables.hpp"

#include <optional>

namespace holdfast::mysql {

namespace {

std::string meta(const settings& where) { return sql::mysql::quoted(where.prefix + "meta"); }

failure told(const settings& where, const failure& why, const std::string& what) {
  return {why.code, "mysql " + where.shown() + ": " + what + why.detail};
}

/// Empty: there are none.
result<std::optional<std::int64_t>> version_of(connection& over, const settings& where,
                                               connection::clock::time_point deadline) {
  // Those it may not see are not there either, for who asks.
  auto there =
      over.run("SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '" +
                   where.prefix + "meta'",
               deadline);
  if (!there) return there.error();
  if (there->integer(0, 0) == 0) return std::optional<std::int64_t>();
  auto found = over.run("SELECT number FROM " + meta(where) + " WHERE what = 'version'", deadline);
  if (!found) return found.error();
  if (found->size() == 0) return std::optional<std::int64_t>();
  return std::optional(found->integer(0, 0));
}

result<bool> up_to_date(connection& over, const settings& where, connection::clock::time_point deadline) {
  const auto version = version_of(over, where, deadline);
  if (!version) return version.error();
  if (!*version || **version < sql::schema_version) return false;
  if (**version == sql::schema_version) return true;
  return failure{errc::rejected, "the tables '" + where.prefix + "...' were made by a newer Holdfast (version " +
                                     std::to_string(**version) + "; this one knows " +
                                     std::to_string(sql::schema_version) + ")"};
}

result<void> make(connection& over, const settings& where, connection::clock::time_point deadline) {
  const auto good = up_to_date(over, where, deadline);
  if (!good) return good.error();
  if (*good) return {};  // somebody else was faster
  for (const auto& one : sql::mysql::statements(where.prefix))
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

}  // namespace

result<void> make_schema(connection& over, const settings& where, connection::clock::time_point deadline) {
  if (auto fit = check_server(over, deadline); !fit) return told(where, fit.error(), "");
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
  if (!made) return told(where, made.error(), "the tables '" + where.prefix + "...' could not be made: ");
  if (!ended) return told(where, ended.error(), "");
  return {};
}

result<std::string> identity_of(connection& over, const settings& where, connection::clock::time_point deadline) {
  auto found = over.run("SELECT number FROM " + meta(where) + " WHERE what = 'identity'", deadline);
  if (!found) return told(where, found.error(), "");
  return "mysql:" + (found->size() == 1 ? found->text(0, 0) : where.shown() + "/" + where.prefix);
}

}  // namespace holdfast::mysql
