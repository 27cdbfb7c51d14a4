#pragma once

#include <holdfast/export.hpp>
#include <holdfast/result.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// A store's URL, taken apart: `scheme://user:password@h1:p1,h2:p2/path?option=value`, each part percent-decoded.
///
/// Thread safety: as a value.
class HOLDFAST_EXPORT uri {
 public:
  struct endpoint {
    std::string host;  ///< Without the brackets of an IPv6 address.
    std::optional<std::uint16_t> port;
  };

  /// errc::invalid_argument names the part that is wrong; the text never holds the password.
  static result<uri> parse(std::string_view text);

  std::string scheme;  ///< Lower case, `redis+unix` whole.
  std::string user;
  std::string password;
  std::vector<endpoint> hosts;
  std::string path;  ///< With its leading slash; of `memory:x` it is `x`.
  std::map<std::string, std::string, std::less<>> options;

  /// The URL as it may be shown: the password and options that look like secrets replaced by `***`.
  std::string redacted() const;

  /// Takes an option out, so that what is left over is unknown.
  std::optional<std::string> take(std::string_view option);
  /// Fails with errc::invalid_argument if options are left, naming them and, beside them, what would be right.
  result<void> expect_no_more_options(std::string_view known) const;
};

/// `250ms`, `10s`, `5m`, `2h`: a duration as the command and URLs spell it. errc::invalid_argument otherwise.
HOLDFAST_EXPORT result<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace holdfast
