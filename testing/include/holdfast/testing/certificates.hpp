#pragma once

#include <holdfast/testing/temporary_directory.hpp>

#include <string>

namespace holdfast::testing {

/// An authority and the certificates it signs, made by the openssl command, gone with this object.
///
/// Thread safety: one thread at a time.
class certificates {
 public:
  struct pair {
    std::string cert;  ///< Paths of PEM files.
    std::string key;
  };
  enum class age { fresh, expired };

  /// Throws std::runtime_error if there is no openssl.
  certificates();

  const std::string& authority() const noexcept { return authority_.cert; }
  /// `names` as in subjectAltName: `DNS:localhost,IP:127.0.0.1`.
  pair issue(const std::string& names, age how_old = age::fresh);
  /// The same key, which nobody can use without its passphrase.
  std::string locked(const std::string& key);

 private:
  std::string file(const std::string& ending);

  temporary_directory directory_;
  int files_ = 0;
  pair authority_;
};

}  // namespace holdfast::testing
