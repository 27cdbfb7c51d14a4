#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/redis_tls_server.hpp>

namespace holdfast::testing {

namespace {

std::vector<std::string> with_tls(std::uint16_t port, const certificates::pair& shown,
                                  const std::vector<std::string>& settings) {
  std::vector<std::string> all{"--tls-port",         std::to_string(port),
                               "--tls-cert-file",    shown.cert,
                               "--tls-key-file",     shown.key,
                               "--tls-ca-cert-file", redis_tls_server::authority().authority(),
                               "--tls-auth-clients", "no"};
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}

const certificates::pair& usual() {
  static const certificates::pair made = redis_tls_server::authority().issue("IP:127.0.0.1,DNS:localhost");
  return made;
}

}  // namespace

certificates& redis_tls_server::authority() {
  static certificates made;
  return made;
}

redis_tls_server::redis_tls_server(const std::vector<std::string>& settings, const std::string& configuration)
    : redis_tls_server(usual(), settings, configuration) {}

redis_tls_server::redis_tls_server(const certificates::pair& shown, const std::vector<std::string>& settings,
                                   const std::string& configuration)
    : port_(free_port()), server_(with_tls(port_, shown, settings), configuration) {}

std::string redis_tls_server::url(unsigned database) const {
  return "rediss://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(database) +
         "?ca-file=" + authority().authority();
}

}  // namespace holdfast::testing
