#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// What a URL says of TLS.
struct tls_settings {
  enum class verification : std::uint8_t {
    off,  ///< Anybody may be the server: against eavesdroppers only.
    on,   ///< The chain, and the name or address.
  };

  std::string ca_file;  ///< PEM. Neither this nor ca_dir: the system's authorities.
  std::string ca_dir;   ///< With hashed names, as `openssl rehash` makes them.
  std::string cert_file;
  std::string key_file;
  std::string server_name;  ///< Sent (SNI) and verified; empty: the host that is dialled.
  verification verify = verification::on;

  static constexpr std::string_view options = "ca-dir, ca-file, cert-file, key-file, server-name, verify";
};

/// Takes the TLS options out of `where`; nothing if it asks for none. `rediss:` does by its scheme, schemes of several
/// hosts by tls=on. errc::invalid_argument names the option that is wrong, or the file that cannot be read.
result<std::optional<tls_settings>> take_tls(uri& where);

}  // namespace holdfast::redis
