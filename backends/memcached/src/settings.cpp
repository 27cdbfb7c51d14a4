#include "settings.hpp"

#include <algorithm>
#include <fstream>

namespace holdfast::memcached {

namespace {

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

/// The first line of a file, so that an editor's newline at the end is none of the password.
result<void> read_secret(uri& where, settings& out) {
  const auto file = where.take("password-file");
  if (!file) return {};
  if (!where.password.empty()) return wrong("there is a password and a password-file");
  std::ifstream in(*file);
  std::string line;
  if (!in || !std::getline(in, line)) return wrong("password-file '" + *file + "' cannot be read or is empty");
  if (line.ends_with('\r')) line.pop_back();
  out.password = std::move(line);
  return {};
}

/// The server is told both with a space between them, in one line.
result<void> check_login(const settings& out) {
  if (out.user.empty() && out.password.empty()) return {};
  if (out.user.empty()) return wrong("there is a password without a user; write memcached://user:password@host");
  if (out.password.empty()) return wrong("there is a user without a password");
  const auto odd = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (out.user.find_first_of(" :") != std::string::npos || std::any_of(out.user.begin(), out.user.end(), odd))
    return wrong("the user has a space, a colon or a control character, which memcached does not take");
  if (out.password.find(' ') != std::string::npos || std::any_of(out.password.begin(), out.password.end(), odd))
    return wrong("the password has a space or a control character, which memcached does not take");
  return {};
}

result<void> read_servers(const uri& where, settings& out) {
  if (where.hosts.empty()) return wrong("memcached: needs a host: memcached://127.0.0.1:11211");
  for (const auto& one : where.hosts) {
    address next{one.host, one.port ? std::to_string(*one.port) : "11211"};
    const auto same = [&](const address& other) { return other.shown() == next.shown(); };
    if (std::any_of(out.servers.begin(), out.servers.end(), same))
      return wrong("memcached: " + next.shown() + " is named twice");
    out.servers.push_back(std::move(next));
  }
  if (!where.path.empty() && where.path != "/")
    return wrong("memcached: has no databases; leave out '" + where.path + "'");
  return {};
}

}  // namespace

std::string address::shown() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

result<settings> settings::from(uri where) {
  settings out;
  out.user = where.user;
  out.password = where.password;
  if (auto good = read_secret(where, out); !good) return good.error();
  if (auto good = read_servers(where, out); !good) return good.error();
  if (auto good = check_login(out); !good) return good.error();
  if (auto good = where.expect_no_more_options("password-file"); !good) return good.error();
  return out;
}

std::string settings::shown() const {
  std::vector<std::string> names;
  for (const auto& one : servers) names.push_back(one.shown());
  std::sort(names.begin(), names.end());
  std::string all;
  for (const auto& one : names) all += (all.empty() ? "" : ",") + one;
  return all;
}

}  // namespace holdfast::memcached
