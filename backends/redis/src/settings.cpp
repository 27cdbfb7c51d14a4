#include "settings.hpp"

#include <charconv>
#include <fstream>
#include <optional>

namespace holdfast::redis {

namespace {

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

result<unsigned> database_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || number > 1'000'000)
    return wrong("'" + std::string(text) + "' is no database number; write /0 to /15 or leave it out");
  return number;
}

/// The first line of a file, so that an editor's newline at the end is none of the password.
result<std::string> secret_in(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!in || !std::getline(in, line)) return wrong("password-file '" + file + "' cannot be read or is empty");
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

result<void> read_options(uri& where, settings& out) {
  if (auto tokens = where.take("tokens")) {
    if (*tokens != "hybrid" && *tokens != "redisson")
      return wrong("tokens='" + *tokens + "' is neither 'hybrid' nor 'redisson'");
    out.tokens = *tokens == "redisson" ? token_source::redisson : token_source::hybrid;
  }
  if (auto file = where.take("password-file")) {
    if (!where.password.empty()) return wrong("there is a password and a password-file");
    auto secret = secret_in(*file);
    if (!secret) return secret.error();
    out.password = std::move(*secret);
  }
  return {};
}

result<void> read_tcp(const uri& where, settings& out) {
  if (where.hosts.size() != 1)
    return wrong(where.hosts.empty()
                     ? "redis: needs a host: redis://127.0.0.1:6379"
                     : "redis: takes one host; several are redis+sentinel:, redis+cluster: or redlock:");
  out.host = where.hosts.front().host;
  if (where.hosts.front().port) out.port = std::to_string(*where.hosts.front().port);
  if (where.path.empty() || where.path == "/") return {};
  auto number = database_number(std::string_view(where.path).substr(1));
  if (!number) return number.error();
  out.database = *number;
  return {};
}

result<void> read_cluster(uri& where, settings& out) {
  if (where.hosts.empty())
    return wrong("redis+cluster: needs at least one node: redis+cluster://127.0.0.1:7000,127.0.0.1:7001");
  if (!where.path.empty() && where.path != "/")
    return wrong("redis+cluster: takes no database number: a Redis Cluster has one database");
  for (const auto& node : where.hosts)
    out.seeds.push_back({node.host, node.port ? std::to_string(*node.port) : out.port});
  out.host = out.seeds.front().host;
  out.port = out.seeds.front().port;
  const auto mode = where.take("pubsub").value_or("auto");
  if (mode == "plain")
    out.pubsub = publishing::plain;
  else if (mode == "sharded")
    out.pubsub = publishing::sharded;
  else if (mode == "both")
    out.pubsub = publishing::both;
  else if (mode != "auto")
    return wrong("pubsub='" + mode + "' is none of 'auto', 'plain', 'sharded', 'both'");
  return {};
}

result<void> read_unix(uri& where, settings& out) {
  if (!where.hosts.empty()) return wrong("redis+unix: takes no host; write redis+unix:///path/redis.sock");
  if (where.path.size() < 2 || where.path.front() != '/')
    return wrong("redis+unix: needs the absolute path of a socket: redis+unix:///path/redis.sock");
  if (where.path.size() > 107) return wrong("the path of the socket is longer than 107 bytes");
  out.socket = where.path;
  if (auto number = where.take("db")) {
    auto database = database_number(*number);
    if (!database) return database.error();
    out.database = *database;
  }
  return {};
}

}  // namespace

result<settings> settings::from(uri where) {
  settings out;
  out.user = where.user;
  out.password = where.password;
  if (auto good = read_options(where, out); !good) return good.error();
  const bool local = where.scheme == "redis+unix";
  const bool many = where.scheme == "redis+cluster";
  if (auto good = local ? read_unix(where, out) : many ? read_cluster(where, out) : read_tcp(where, out); !good)
    return good.error();
  if (!out.user.empty() && out.password.empty()) return wrong("there is a user without a password");
  if (auto good = where.expect_no_more_options(local  ? "db, password-file, tokens"
                                               : many ? "password-file, pubsub, tokens"
                                                      : "password-file, tokens");
      !good)
    return good.error();
  return out;
}

std::string settings::shown() const {
  if (!socket.empty()) return socket;
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

}  // namespace holdfast::redis
