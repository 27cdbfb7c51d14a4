#include "dial.hpp"

#include "mysql_error.hpp"
#include "waits.hpp"

#include <mysql.h>
// Ours, of backends/sql: the angle brackets of the driver's are above.
#include "mysql.hpp"

#include <algorithm>
#include <csignal>
#include <mutex>

namespace holdfast::mysql {

namespace {

using namespace std::chrono_literals;

/// The driver sets itself up with the first connection, which two threads must not do at once; and it has the program
/// ignore SIGPIPE, which is not ours to decide (what it writes to sockets asks for no signal).
void set_up_driver() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction before{};
    ::sigaction(SIGPIPE, nullptr, &before);
    mysql_library_init(0, nullptr, nullptr);
    ::sigaction(SIGPIPE, &before, nullptr);
  });
}

/// What a session is to be like, whatever the server's defaults are.
///
/// READ COMMITTED: the routines count on seeing what was committed before they got the row. One that waits for a row
/// gives up before we give up on it; not much earlier, as it then has to queue up again. Times are counted in UTC:
/// hours that come twice would not be told apart. An idle connection of ours is not to be killed for being idle.
///
/// But ShedLock writes UTC into columns that may be converted from the zone of a session: what it means by them is only
/// known in the same zone, that of the server.
std::string session_settings(MYSQL* conn, const settings& where, const spi::runtime& engine) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(engine.options().request_timeout / 2).count();
  const std::string patience = std::to_string(std::clamp<std::int64_t>(whole, 1, 100));
  std::string text =
      "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET NAMES utf8mb4; SET SESSION time_zone = '+00:00', "
      "autocommit = 1, wait_timeout = 2147483, sql_mode = '" +
      std::string(sql::mysql::sql_mode) + "', innodb_lock_wait_timeout = " + patience +
      ", lock_wait_timeout = " + patience;
  if (std::string_view(mysql_get_server_info(conn)).find("MariaDB") != std::string_view::npos)
    text += ", max_statement_time = 0, idle_transaction_timeout = 0";
  else
    text += ", max_execution_time = 0";
  if (where.tables.shares())
    text += ", time_zone = @@global.time_zone; SET " + std::string(sql::mysql::at_least) + " = " +
            std::to_string(where.at_least.count());
  return text;
}

void set_tls(MYSQL* conn, const settings& where) {
  for (const auto& [word, value] : where.tls) {
    const my_bool on = value == "1" ? 1 : 0;
    if (word == "ssl")
      mysql_options(conn, MYSQL_OPT_SSL_ENFORCE, &on);
    else if (word == "ssl-verify-server-cert")
      mysql_options(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &on);
    else if (word == "ssl-ca")
      mysql_options(conn, MYSQL_OPT_SSL_CA, value.c_str());
    else if (word == "ssl-capath")
      mysql_options(conn, MYSQL_OPT_SSL_CAPATH, value.c_str());
    else if (word == "ssl-cert")
      mysql_options(conn, MYSQL_OPT_SSL_CERT, value.c_str());
    else if (word == "ssl-key")
      mysql_options(conn, MYSQL_OPT_SSL_KEY, value.c_str());
    else if (word == "ssl-cipher")
      mysql_options(conn, MYSQL_OPT_SSL_CIPHER, value.c_str());
    else if (word == "ssl-crl")
      mysql_options(conn, MYSQL_OPT_SSL_CRL, value.c_str());
    else
      mysql_options(conn, MARIADB_OPT_TLS_VERSION, value.c_str());
  }
}

void set_options(MYSQL* conn, const settings& where, const spi::runtime& engine) {
  // The driver's calls run on a stack of their own, which must be large enough for a TLS library and a resolver.
  constexpr std::size_t stack = 256 * 1024;
  mysql_options(conn, MYSQL_OPT_NONBLOCK, &stack);
  if (!where.defaults_file.empty()) mysql_options(conn, MYSQL_READ_DEFAULT_FILE, where.defaults_file.c_str());
  if (!where.defaults_group.empty()) mysql_options(conn, MYSQL_READ_DEFAULT_GROUP, where.defaults_group.c_str());
  set_tls(conn, where);
  const std::string name = "holdfast " + engine.who().client_name;
  mysql_options4(conn, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", name.c_str());
  const my_bool no = 0;
  mysql_options(conn, MYSQL_OPT_RECONNECT, &no);
}

const char* given(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

failure broken(const settings& where, std::string_view what) {
  return {errc::unavailable, "mysql " + where.shown() + ": " + std::string(what)};
}

result<connection> dial(const settings& where, spi::runtime& engine, std::chrono::nanoseconds limit) {
  const auto deadline = connection::clock::now() + limit;
  set_up_driver();
  connection made(mysql_init(nullptr));
  if (!made) return broken(where, "no memory for a connection");
  MYSQL* const conn = made.get();
  set_options(conn, where, engine);
  MYSQL* connected = nullptr;
  int waits = mysql_real_connect_start(&connected, conn, given(where.host), given(where.user), given(where.password),
                                       given(where.database), where.port, given(where.unix_socket),
                                       CLIENT_MULTI_STATEMENTS | CLIENT_MULTI_RESULTS);
  while (waits != 0) {
    const short ready = wait_for(static_cast<int>(mysql_get_socket(conn)), events_of(waits), deadline);
    if (ready == 0) return broken(where, "connecting took too long");
    waits = mysql_real_connect_cont(&connected, conn, waits_of(ready));
  }
  if (connected == nullptr) {
    auto why = failure_of(mysql_errno(conn), mysql_error(conn));
    return failure{why.code, "mysql " + where.shown() + ": " + why.detail};
  }
  made.settle_socket();
  auto set = made.run(session_settings(conn, where, engine), deadline);
  if (!set) return failure{set.error().code, "mysql " + where.shown() + ": " + set.error().detail};
  return made;
}

}  // namespace holdfast::mysql
