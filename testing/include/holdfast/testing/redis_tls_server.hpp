#pragma once

#include <holdfast/testing/certificates.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A redis-server that speaks TLS on one port and plainly on another.
///
/// Thread safety: one thread at a time.
class redis_tls_server {
 public:
  /// With a certificate for 127.0.0.1 and localhost that authority() vouches for; no certificate is asked of
  /// clients. `settings` and `configuration`: as of redis_server.
  explicit redis_tls_server(const std::vector<std::string>& settings = {}, const std::string& configuration = {});
  redis_tls_server(const certificates::pair& shown, const std::vector<std::string>& settings,
                   const std::string& configuration = {});

  /// What all servers of this process were certified by.
  static certificates& authority();

  std::uint16_t port() const noexcept { return port_; }
  redis_server& server() noexcept { return server_; }  ///< `port` and `url` of it are the plain ones.
  /// Ends in the option ca-file: `&` goes on.
  std::string url(unsigned database = 0) const;

 private:
  const std::uint16_t port_;
  redis_server server_;
};

}  // namespace holdfast::testing
