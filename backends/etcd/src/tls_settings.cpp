#include "tls_settings.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

namespace holdfast::etcd {

namespace {

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

}  // namespace

result<tls_settings> tls_settings::take(uri& where) {
  tls_settings out;
  const std::array<std::pair<const char*, std::string&>, 4> texts{{{"ca-file", out.ca_file},
                                                                   {"cert-file", out.cert_file},
                                                                   {"key-file", out.key_file},
                                                                   {"server-name", out.server_name}}};
  for (const auto& [option, text] : texts) {
    auto value = where.take(option);
    if (!value) continue;
    if (value->empty()) return wrong(std::string(option) + "= is empty");
    if (where.scheme != "etcds")
      return wrong(std::string(option) + "= is about TLS, which this URL does not ask for; write etcds:");
    text = std::move(*value);
  }
  if (out.cert_file.empty() != out.key_file.empty())
    return wrong(out.key_file.empty() ? "there is a cert-file without its key-file"
                                      : "there is a key-file without its cert-file");
  const std::array<std::pair<const char*, const std::string&>, 3> files{
      {{"ca-file", out.ca_file}, {"cert-file", out.cert_file}, {"key-file", out.key_file}}};
  for (const auto& [option, file] : files) {
    if (!file.empty() && contents(file).empty())
      return wrong(std::string(option) + " '" + file + "' cannot be read or is empty");
  }
  return out;
}

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  if (in) all << in.rdbuf();
  return all.str();
}

}  // namespace holdfast::etcd
