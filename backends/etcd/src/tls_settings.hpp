#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <string>

namespace holdfast::etcd {

/// What `etcds:` says of TLS. The server's chain and name are always verified: gRPC offers no way around it that is not
/// marked as experimental.
struct tls_settings {
  std::string ca_file;      ///< PEM. Empty: the system's authorities.
  std::string cert_file;    ///< Client certificate; its CN is the user when no password is given.
  std::string key_file;     ///< Unencrypted PEM.
  std::string server_name;  ///< Sent (SNI) and verified; empty: the host that is dialled.

  static constexpr const char* options = "ca-file, cert-file, key-file, server-name";

  /// Takes the TLS options out of `where`. errc::invalid_argument names the option that is wrong, or the file that
  /// cannot be read.
  static result<tls_settings> take(uri& where);
};

/// The whole of a file. Requires: it could be read when the settings were taken.
std::string contents(const std::string& file);

}  // namespace holdfast::etcd
