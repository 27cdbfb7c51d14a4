#include "tls_settings.hpp"

#include <array>
#include <fstream>
#include <utility>

namespace holdfast::redis {

namespace {

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

/// on or off; nothing if it is not there.
result<std::optional<bool>> take_switch(uri& where, const std::string& option) {
  const auto value = where.take(option);
  if (!value) return std::optional<bool>();
  if (*value != "on" && *value != "off") return wrong(option + "='" + *value + "' is neither 'on' nor 'off'");
  return std::optional(*value == "on");
}

/// Said here and now, rather than by each connection.
result<void> check_files(const tls_settings& tls) {
  if (tls.cert_file.empty() != tls.key_file.empty())
    return wrong(tls.key_file.empty() ? "there is a cert-file without its key-file"
                                      : "there is a key-file without its cert-file");
  const std::array<std::pair<const char*, const std::string&>, 4> files{
      {{"ca-file", tls.ca_file}, {"ca-dir", tls.ca_dir}, {"cert-file", tls.cert_file}, {"key-file", tls.key_file}}};
  for (const auto& [option, file] : files) {
    if (!file.empty() && !std::ifstream(file)) return wrong(std::string(option) + " '" + file + "' cannot be read");
  }
  return {};
}

}  // namespace

result<std::optional<tls_settings>> take_tls(uri& where) {
  tls_settings out;
  const std::array<std::pair<const char*, std::string&>, 5> texts{{{"ca-file", out.ca_file},
                                                                   {"ca-dir", out.ca_dir},
                                                                   {"cert-file", out.cert_file},
                                                                   {"key-file", out.key_file},
                                                                   {"server-name", out.server_name}}};
  std::string given;
  for (const auto& [option, text] : texts) {
    auto value = where.take(option);
    if (!value) continue;
    if (value->empty()) return wrong(std::string(option) + "= is empty");
    given = option;
    text = std::move(*value);
  }
  const auto verify = take_switch(where, "verify");
  if (!verify) return verify.error();
  if (*verify) given = "verify";
  if (*verify == false) out.verify = tls_settings::verification::off;

  bool wanted = where.scheme == "rediss";
  // With one host the scheme says it: two ways to say it could contradict each other.
  if (where.scheme != "redis" && where.scheme != "redis+unix" && !wanted) {
    const auto tls = take_switch(where, "tls");
    if (!tls) return tls.error();
    wanted = tls->value_or(false);
  }
  if (!wanted && !given.empty())
    return wrong(given + "= is about TLS, which this URL does not ask for; write rediss: (of several hosts: tls=on)");
  if (!wanted) return std::optional<tls_settings>();
  if (auto good = check_files(out); !good) return good.error();
  return std::optional(std::move(out));
}

}  // namespace holdfast::redis
