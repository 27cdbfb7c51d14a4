#include "settings.hpp"

#include "postgresql.hpp"
#include "shedlock_settings.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>

namespace holdfast::postgres {

namespace {

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

/// Every word libpq knows, of the version that is installed.
std::set<std::string, std::less<>> words_of_libpq() {
  std::set<std::string, std::less<>> words;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(PQconndefaults(), &PQconninfoFree);
  for (const auto* o = all.get(); o != nullptr && o->keyword != nullptr; ++o) words.insert(o->keyword);
  return words;
}

result<void> read_ours(uri& where, settings& out) {
  if (auto scheme = where.take("scheme"); scheme && *scheme != "lease") {
    if (*scheme == "session" || *scheme == "row")
      return {errc::unsupported, "URL: scheme=" + *scheme + " is not there yet on PostgreSQL; leave it out for leases"};
    return wrong("scheme='" + *scheme + "' is neither 'lease' nor 'session' nor 'row'");
  }
  auto shared = sql::take_shedlock(where, "public");
  if (!shared) return shared.error();
  if (*shared) {
    out.tables = sql::postgresql::unquoted(std::move((*shared)->tables));
    out.at_least = (*shared)->at_least;
  } else if (auto schema = where.take("schema")) {
    // Longer identifiers are cut by the server, and would be those of somebody else.
    if (schema->empty() || schema->size() > 63) return wrong("schema='" + *schema + "' has no 1 to 63 bytes");
    if (schema->starts_with("pg_")) return wrong("schema='" + *schema + "': names with pg_ are the server's own");
    out.tables.schema = std::move(*schema);
  }
  auto file = where.take("password-file");
  if (!file) return {};
  if (!where.password.empty()) return wrong("there is a password and a password-file");
  std::ifstream in(*file);
  if (!in || !std::getline(in, where.password) || where.password.empty())
    return wrong("password-file '" + *file + "' cannot be read or is empty");
  if (where.password.ends_with('\r')) where.password.pop_back();
  return {};
}

void read_hosts(const uri& where, settings& out) {
  std::string hosts;
  std::string ports;
  std::string_view comma;
  bool any_port = false;
  for (const auto& one : where.hosts) {
    hosts += std::string(comma) + one.host;
    ports += std::string(comma) + (one.port ? std::to_string(*one.port) : std::string());
    any_port = any_port || one.port;
    comma = ",";
  }
  if (!hosts.empty()) out.parameters.emplace_back("host", hosts);
  if (any_port) out.parameters.emplace_back("port", ports);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> all;
  for (;;) {
    const auto comma = list.find(',');
    all.emplace_back(list.substr(0, comma));
    if (comma == list.npos) return all;
    list.remove_prefix(comma + 1);
  }
}

std::string shown_of(const uri& where, const std::string& database) {
  std::string text;
  for (const auto& one : where.hosts)
    text += (text.empty() ? "" : ",") + one.host + (one.port ? ":" + std::to_string(*one.port) : "");
  for (const char* word : {"host", "service"})
    if (const auto found = where.options.find(word); text.empty() && found != where.options.end()) text = found->second;
  return text + (database.empty() ? "" : "/" + database);
}

}  // namespace

bool settings::several_hosts() const {
  return std::any_of(parameters.begin(), parameters.end(), [](const auto& one) {
    return (one.first == "host" || one.first == "hostaddr") && one.second.find(',') != std::string::npos;
  });
}

std::vector<settings> settings::each_host() const {
  const std::string* hosts = nullptr;
  const std::string* ports = nullptr;
  for (const auto& [word, value] : parameters) {
    if (word == "host") hosts = &value;
    if (word == "port") ports = &value;
    // libpq's own business: addresses beside names, and a standby only if there is one.
    if (word == "hostaddr" || (word == "target_session_attrs" && value == "prefer-standby")) return {*this};
  }
  if (hosts == nullptr || hosts->find(',') == std::string::npos) return {*this};
  const auto names = split(*hosts);
  const auto numbers = ports == nullptr ? std::vector<std::string>{""} : split(*ports);
  if (numbers.size() != 1 && numbers.size() != names.size()) return {*this};  // which libpq refuses
  std::vector<settings> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    settings one = *this;
    for (auto& [word, value] : one.parameters) {
      if (word == "host") value = names[i];
      if (word == "port") value = numbers[numbers.size() == 1 ? 0 : i];
    }
    all.push_back(std::move(one));
  }
  return all;
}

result<settings> settings::from(uri where) {
  settings out;
  if (auto good = read_ours(where, out); !good) return good.error();
  const std::string database = where.path.size() > 1 ? where.path.substr(1) : std::string();
  out.shown_ = shown_of(where, database);
  const auto known = words_of_libpq();
  for (const auto& [word, value] : where.options) {
    if (!known.contains(word))
      return wrong("unknown option '" + word +
                   "'; postgresql: knows scheme, schema, layout, table, at-least, password-file and libpq's own: "
                   "sslmode, sslrootcert, service, "
                   "passfile, target_session_attrs, ...");
    for (const auto& [taken, there] :
         {std::pair("host", !where.hosts.empty()), std::pair("user", !where.user.empty()),
          std::pair("password", !where.password.empty()), std::pair("dbname", !database.empty())})
      if (word == taken && there) return wrong("option '" + word + "' says again what stands before the '?'");
    if (word == "replication") return wrong("option 'replication' is for replicas, not for locks");
  }
  read_hosts(where, out);
  if (!where.user.empty()) out.parameters.emplace_back("user", where.user);
  if (!where.password.empty()) out.parameters.emplace_back("password", where.password);
  if (!database.empty()) out.parameters.emplace_back("dbname", database);
  // Of several, the one that can be written to.
  if (where.hosts.size() > 1 && !where.options.contains("target_session_attrs"))
    out.parameters.emplace_back("target_session_attrs", "read-write");
  for (auto& option : where.options) out.parameters.emplace_back(option.first, std::move(option.second));
  return out;
}

}  // namespace holdfast::postgres
