#include "settings.hpp"

#include <algorithm>
#include <fstream>

namespace holdfast::etcd {

namespace {

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

result<void> read_hosts(const uri& where, settings& out) {
  if (where.hosts.empty()) return wrong(where.scheme + ": needs a host: " + where.scheme + "://127.0.0.1:2379");
  for (const auto& one : where.hosts) {
    const std::string host = one.host.find(':') == std::string::npos ? one.host : "[" + one.host + "]";
    std::string next = host + ":" + std::to_string(one.port.value_or(2379));
    if (std::find(out.endpoints.begin(), out.endpoints.end(), next) != out.endpoints.end())
      return wrong(next + " is named twice");
    out.endpoints.push_back(std::move(next));
  }
  if (!where.path.empty() && where.path != "/")
    return wrong(where.scheme + ": takes no path; write ?namespace=" + where.path.substr(1) +
                 "/ to put that before every key");
  return {};
}

result<void> read_secret(uri& where, settings& out) {
  const auto file = where.take("password-file");
  if (file && !out.password.empty()) return wrong("there is a password and a password-file");
  if (file) {
    // The first line, so that an editor's newline at the end is none of the password.
    std::ifstream in(*file);
    if (!in || !std::getline(in, out.password))
      return wrong("password-file '" + *file + "' cannot be read or is empty");
    if (out.password.ends_with('\r')) out.password.pop_back();
  }
  if (!out.user.empty() && out.password.empty()) return wrong("there is a user without a password");
  if (out.user.empty() && !out.password.empty()) return wrong("there is a password without a user");
  return {};
}

}  // namespace

result<settings> settings::from(uri where) {
  settings out;
  out.user = where.user;
  out.password = where.password;
  if (auto good = read_hosts(where, out); !good) return good.error();
  if (auto good = read_secret(where, out); !good) return good.error();
  if (auto prefix = where.take("namespace")) {
    if (prefix->empty()) return wrong("namespace= is empty");
    out.prefix = std::move(*prefix);
  }
  if (auto tokens = where.take("tokens")) {
    if (*tokens != "block" && *tokens != "revision")
      return wrong("tokens='" + *tokens + "' is neither 'block' nor 'revision'");
    out.tokens = *tokens == "revision" ? token_source::revision : token_source::block;
  }
  auto tls = tls_settings::take(where);
  if (!tls) return tls.error();
  if (where.scheme == "etcds") out.tls = std::move(*tls);
  const std::string known = "namespace, password-file, tokens";
  if (auto good = where.expect_no_more_options(out.tls ? known + ", " + tls_settings::options : known); !good)
    return good.error();
  return out;
}

std::string settings::shown() const {
  std::string all;
  for (const auto& one : endpoints) all += (all.empty() ? "" : ",") + one;
  return all;
}

}  // namespace holdfast::etcd
