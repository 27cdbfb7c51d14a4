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
  if (auto file = where.take("password-file")) {
    if (!where.password.empty()) return wrong("there is a password and a password-file");
    auto secret = secret_in(*file);
    if (!secret) return secret.error();
    out.password = std::move(*secret);
  }
  return read_replicas(where, out);
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
  if (auto good = local ? read_unix(where, out) : read_tcp(where, out); !good) return good.error();
  if (!out.user.empty() && out.password.empty()) return wrong("there is a user without a password");
  const std::string known = "layout, password-file, prefix, replicas, replicas-timeout, tokens";
  if (auto good = where.expect_no_more_options(local ? "db, " + known : known); !good) return good.error();
  return out;
}

std::string settings::shown() const {
  if (!socket.empty()) return socket;
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

}  // namespace holdfast::redis
