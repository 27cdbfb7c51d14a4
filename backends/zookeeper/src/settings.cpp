#include "settings.hpp"

#include <algorithm>
#include <fstream>
#include <vector>

namespace holdfast::zookeeper {

namespace {

constexpr std::uint16_t usual_port = 2181;

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

result<void> read_servers(const uri& where, settings& out) {
  if (where.hosts.empty()) return wrong("zk: needs a server: zk://127.0.0.1:2181");
  std::vector<std::string> all;
  for (const auto& one : where.hosts) {
    if (one.host.empty()) return wrong("zk: a server has no name");
    const bool bare_ipv6 = one.host.find(':') != one.host.npos;
    all.push_back((bare_ipv6 ? "[" + one.host + "]" : one.host) + ":" + std::to_string(one.port.value_or(usual_port)));
  }
  // In one order everywhere: it is the store's name. The client library shuffles them anyway.
  std::sort(all.begin(), all.end());
  for (const auto& one : all) out.servers += (out.servers.empty() ? "" : ",") + one;
  return {};
}

result<void> read_root(std::string path, settings& out) {
  while (path.ends_with('/')) path.pop_back();
  for (std::string_view rest = path; !rest.empty();) {
    rest.remove_prefix(1);
    const auto part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == "..")
      return wrong("'" + path + "' is no ZooKeeper path; write /a/b without empty parts, '.' and '..'");
    if (std::any_of(part.begin(), part.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      return wrong("the chroot has a control character in it");
    rest.remove_prefix(part.size());
  }
  if (path == "/zookeeper" || path.starts_with("/zookeeper/")) return wrong("/zookeeper is the server's own");
  out.root = std::move(path);
  return {};
}

/// The first line of a file, so that an editor's newline at the end is none of the password.
result<void> read_secret(uri& where, settings& out) {
  out.user = where.user;
  out.password = where.password;
  if (const auto file = where.take("password-file")) {
    if (!where.password.empty()) return wrong("there is a password and a password-file");
    std::ifstream in(*file);
    if (!in || !std::getline(in, out.password))
      return wrong("password-file '" + *file + "' cannot be read or is empty");
    if (out.password.ends_with('\r')) out.password.pop_back();
  }
  if (out.user.empty() != out.password.empty()) return wrong("digest authentication needs a user and a password");
  if (out.user.find(':') != out.user.npos) return wrong("a user's name cannot have ':' in it");
  return {};
}

result<void> read_options(uri& where, settings& out) {
  if (const auto acl = where.take("acl")) {
    if (*acl != "open" && *acl != "creator" && *acl != "creator-read")
      return wrong("acl='" + *acl + "' is none of 'open', 'creator' and 'creator-read'");
    out.acl = *acl == "open" ? access_list::open : *acl == "creator" ? access_list::creator : access_list::creator_read;
    if (out.acl != access_list::open && out.user.empty()) return wrong("acl=" + *acl + " needs a user and a password");
  }
  if (const auto parents = where.take("parents")) {
    if (*parents != "containers" && *parents != "persistent")
      return wrong("parents='" + *parents + "' is neither 'containers' nor 'persistent'");
    out.parents = *parents == "containers" ? parent_nodes::containers : parent_nodes::persistent;
  }
  return {};
}

}  // namespace

result<settings> settings::from(uri where) {
  settings out;
  if (auto good = read_servers(where, out); !good) return good.error();
  if (auto good = read_root(where.path, out); !good) return good.error();
  if (auto good = read_secret(where, out); !good) return good.error();
  if (auto good = read_options(where, out); !good) return good.error();
  if (auto good = where.expect_no_more_options("acl, parents, password-file"); !good) return good.error();
  return out;
}

}  // namespace holdfast::zookeeper
