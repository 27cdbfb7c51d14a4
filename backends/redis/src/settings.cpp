#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

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
result<std::string> secret_in(const std::string& file, const std::string& option = "password-file") {
  std::ifstream in(file);
  std::string line;
  if (!in || !std::getline(in, line)) return wrong(option + " '" + file + "' cannot be read or is empty");
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

result<void> read_secret(uri& where, settings& out) {
  auto file = where.take("password-file");
  if (!file) return {};
  if (!where.password.empty()) return wrong("there is a password and a password-file");
  auto secret = secret_in(*file);
  if (!secret) return secret.error();
  out.password = std::move(*secret);
  return {};
}

result<void> read_replicas(uri& where, settings& out) {
  const auto count = where.take("replicas");
  const auto limit = where.take("replicas-timeout");
  if (limit && !count) return wrong("there is a replicas-timeout without replicas");
  if (!count) return {};
  const auto [end, failed] = std::from_chars(count->data(), count->data() + count->size(), out.replicas);
  if (failed != std::errc() || end != count->data() + count->size() || out.replicas > 100)
    return wrong("replicas='" + *count + "' is no number from 0 to 100");
  if (!limit) return {};
  auto time = parse_duration(*limit);
  if (!time || *time < std::chrono::milliseconds(1))
    return wrong("replicas-timeout='" + *limit + "' is no time; write 500ms or 1s");
  out.replicas_timeout = *time;
  return {};
}

result<void> read_layout(uri& where, settings& out) {
  const auto layout = where.take("layout");
  const auto prefix = where.take("prefix");
  if (layout && *layout != "redisson" && *layout != "plain")
    return wrong("layout='" + *layout + "' is neither 'redisson' nor 'plain'");
  if (layout == "plain") out.layout = key_layout::plain;
  if (prefix && out.layout != key_layout::plain) return wrong("a prefix needs layout=plain");
  if (out.tokens == token_source::redisson && out.layout == key_layout::plain)
    return wrong("tokens=redisson needs Redisson's layout; leave out layout=plain");
  out.prefix = prefix.value_or("");
  return {};
}

result<void> read_options(uri& where, settings& out) {
  if (auto tokens = where.take("tokens")) {
    if (*tokens != "hybrid" && *tokens != "redisson")
      return wrong("tokens='" + *tokens + "' is neither 'hybrid' nor 'redisson'");
    out.tokens = *tokens == "redisson" ? token_source::redisson : token_source::hybrid;
  }
  if (auto good = read_layout(where, out); !good) return good;
  if (auto good = read_secret(where, out); !good) return good;
  return read_replicas(where, out);
}

result<void> read_tcp(uri& where, settings& out) {
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

/// /master-name[/db]
result<void> read_master(const std::string& path, settings& out) {
  const auto slash = path.find('/', 1);
  out.master = path.empty() ? std::string() : path.substr(1, slash == path.npos ? path.npos : slash - 1);
  if (out.master.empty())
    return wrong("redis+sentinel: needs the name of the master: redis+sentinel://host1,host2/mymaster");
  if (slash == path.npos || slash + 1 == path.size()) return {};
  auto number = database_number(std::string_view(path).substr(slash + 1));
  if (!number) return number.error();
  out.database = *number;
  return {};
}

result<void> read_sentinel(uri& where, settings& out) {
  if (where.hosts.empty()) return wrong("redis+sentinel: needs its sentinels: redis+sentinel://host1,host2/mymaster");
  std::vector<sentinel_list::address> named;
  for (const auto& one : where.hosts) named.push_back({one.host, one.port ? std::to_string(*one.port) : "26379"});
  out.sentinels = std::make_shared<sentinel_list>(std::move(named));
  out.whom = settings::role::master;
  if (auto user = where.take("sentinel-user")) out.sentinel_user = std::move(*user);
  if (auto file = where.take("sentinel-password-file")) {
    auto secret = secret_in(*file, "sentinel-password-file");
    if (!secret) return secret.error();
    out.sentinel_password = std::move(*secret);
  }
  if (!out.sentinel_user.empty() && out.sentinel_password.empty())
    return wrong("there is a sentinel-user without a sentinel-password-file");
  return read_master(where.path, out);
}

result<void> read_cluster(uri& where, settings& out) {
  if (where.hosts.empty())
    return wrong("redis+cluster: needs at least one node: redis+cluster://127.0.0.1:7000,127.0.0.1:7001");
  if (!where.path.empty() && where.path != "/")
    return wrong("redis+cluster: takes no database number: a Redis Cluster has one database");
  if (out.layout == key_layout::plain) return wrong("layout=plain is for single servers, not for redis+cluster:");
  if (out.replicas > 0) return wrong("replicas= is for single servers, not for redis+cluster:");
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

/// As the error about an option that is none lists them.
std::string known_options(const settings& s) {
  std::string all = "layout, password-file, prefix, replicas, replicas-timeout, tokens";
  if (!s.socket.empty()) all = "db, " + all;
  if (s.whom == settings::role::master) all += ", sentinel-password-file, sentinel-user, tls";
  if (!s.seeds.empty()) all = "password-file, pubsub, tls, tokens";
  if (s.tls) all += ", " + std::string(tls_settings::options);
  return all;
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
  auto tls = take_tls(where);
  if (!tls) return tls.error();
  out.tls = std::move(*tls);
  const auto read = where.scheme == "redis+unix"       ? &read_unix
                    : where.scheme == "redis+sentinel" ? &read_sentinel
                    : where.scheme == "redis+cluster"  ? &read_cluster
                                                       : &read_tcp;
  if (auto good = read(where, out); !good) return good.error();
  if (!out.user.empty() && out.password.empty()) return wrong("there is a user without a password");
  if (auto good = where.expect_no_more_options(known_options(out)); !good) return good.error();
  return out;
}

result<std::vector<settings>> settings::each_from(uri where) {
  settings common;
  common.user = where.user;
  common.password = where.password;
  common.tokens = token_source::quorum;
  if (auto restarted = where.take("restarted")) {
    if (*restarted != "wait" && *restarted != "vote")
      return wrong("restarted='" + *restarted + "' is neither 'wait' nor 'vote'");
    common.restarted = *restarted == "vote" ? restarted_nodes::vote : restarted_nodes::wait;
  }
  if (auto good = read_secret(where, common); !good) return good.error();
  if (where.hosts.size() < 3)
    return wrong("redlock: needs at least three servers, or the loss of one is the loss of all: redlock://h1,h2,h3");
  std::vector<settings> all;
  for (const auto& host : where.hosts) {
    uri one = where;
    one.hosts = {host};
    settings next = common;
    if (auto good = read_tcp(one, next); !good) return good.error();
    const auto same = [&](const settings& other) { return other.shown() == next.shown(); };
    if (std::any_of(all.begin(), all.end(), same)) return wrong("redlock: " + next.shown() + " is named twice");
    all.push_back(std::move(next));
  }
  if (!common.user.empty() && common.password.empty()) return wrong("there is a user without a password");
  if (auto good = where.expect_no_more_options("password-file, restarted"); !good) return good.error();
  return all;
}

std::string settings::shown() const {
  switch (whom) {
    case role::master:
      return "master '" + master + "'";
    case role::sentinel:
      return "sentinels of '" + master + "'";
    default:
      return address();
  }
}

std::string settings::address() const {
  if (!socket.empty()) return socket;
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

}  // namespace holdfast::redis
