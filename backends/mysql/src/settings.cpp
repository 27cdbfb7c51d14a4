#include "settings.hpp"

#include "shedlock_settings.hpp"

#include <mysql.hpp>

#include <algorithm>
#include <array>
#include <fstream>

namespace holdfast::mysql {

namespace {

constexpr std::string_view known_options =
    "scheme, prefix, layout, table, at-least, password-file, unix_socket, defaults_file, defaults_group, ssl, ssl-ca, "
    "ssl-capath, ssl-cert, "
    "ssl-key, ssl-cipher, ssl-crl, ssl-verify-server-cert, tls-version";

constexpr std::array tls_words{"ssl",        "ssl-ca",     "ssl-capath", "ssl-cert",
                               "ssl-key",    "ssl-cipher", "ssl-crl",    "ssl-verify-server-cert",
                               "tls-version"};

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

result<void> read_scheme(uri& where) {
  if (auto scheme = where.take("scheme"); scheme && *scheme != "lease") {
    if (*scheme == "session" || *scheme == "row")
      return {errc::unsupported, "URL: scheme=" + *scheme + " is not there yet on MySQL; leave it out for leases"};
    return wrong("scheme='" + *scheme + "' is neither 'lease' nor 'session' nor 'row'");
  }
  return {};
}

result<void> read_password(uri& where) {
  auto file = where.take("password-file");
  if (!file) return {};
  if (!where.password.empty()) return wrong("there is a password and a password-file");
  std::ifstream in(*file);
  if (!in || !std::getline(in, where.password) || where.password.empty())
    return wrong("password-file '" + *file + "' cannot be read or is empty");
  if (where.password.ends_with('\r')) where.password.pop_back();
  return {};
}

result<void> read_tls(uri& where, settings& out) {
  for (const char* word : tls_words) {
    auto value = where.take(word);
    if (!value) continue;
    const std::string_view name = word;
    if ((name == "ssl" || name == "ssl-verify-server-cert") && *value != "1" && *value != "0")
      return wrong(std::string(name) + "='" + *value + "' is neither 0 nor 1");
    // The driver says nothing of a file that is not there until it fails to connect, and then little.
    if ((name == "ssl-ca" || name == "ssl-cert" || name == "ssl-key" || name == "ssl-crl") && !std::ifstream(*value))
      return wrong(std::string(name) + " '" + *value + "' cannot be read");
    out.tls.emplace_back(word, std::move(*value));
  }
  return {};
}

result<void> read_place(uri& where, settings& out) {
  if (where.hosts.size() > 1) return wrong("names several hosts; mysql: takes one");
  if (!where.hosts.empty()) {
    out.host = where.hosts[0].host;
    out.port = where.hosts[0].port.value_or(0);
  }
  if (where.path.size() > 1) out.database = where.path.substr(1);
  if (out.database.find('/') != std::string::npos) return wrong("'" + out.database + "' is no name of a database");
  if (auto socket = where.take("unix_socket")) {
    if (!out.host.empty() && out.host != "localhost") return wrong("there is a host and a unix_socket");
    out.host = "localhost";
    out.unix_socket = std::move(*socket);
  }
  if (auto file = where.take("defaults_file")) {
    if (!std::ifstream(*file)) return wrong("defaults_file '" + *file + "' cannot be read");
    out.defaults_file = std::move(*file);
  }
  if (auto group = where.take("defaults_group")) out.defaults_group = std::move(*group);
  if (out.database.empty() && out.defaults_file.empty() && out.defaults_group.empty())
    return wrong("names no database; write mysql://user@host/DATABASE");
  return {};
}

}  // namespace

std::string settings::shown() const {
  std::string text = unix_socket.empty() ? host : unix_socket;
  if (text.empty()) text = defaults_file.empty() ? "localhost" : defaults_file;
  if (port != 0) text += ":" + std::to_string(port);
  return text + (database.empty() ? "" : "/" + database);
}

result<settings> settings::from(uri where) {
  settings out;
  if (auto good = read_scheme(where); !good) return good.error();
  if (auto good = read_password(where); !good) return good.error();
  if (auto good = read_place(where, out); !good) return good.error();
  if (auto good = read_tls(where, out); !good) return good.error();
  auto shared = sql::take_shedlock(where, "");
  if (!shared) return shared.error();
  if (*shared) {
    out.tables = std::move((*shared)->tables);
    out.at_least = (*shared)->at_least;
  } else if (auto prefix = where.take("prefix")) {
    if (!sql::mysql::is_prefix(*prefix))
      return wrong("prefix='" + *prefix + "' has more than 40 bytes, or others than a to z, 0 to 9 and _");
    out.tables.prefix = std::move(*prefix);
  }
  if (auto good = where.expect_no_more_options(known_options); !good) return good.error();
  out.user = std::move(where.user);
  out.password = std::move(where.password);
  return out;
}

}  // namespace holdfast::mysql
