#pragma once

#include <holdfast/export.hpp>

#include <string>
#include <system_error>

namespace holdfast {

/// Why an operation failed. Contention is not among them: that is a value (`false`, `nullopt`).
enum class errc {
  timed_out = 1,     ///< The wait ended before the lock came free.
  cancelled,         ///< The stop_token given to the wait was stopped.
  lost,              ///< The lease ended before the operation: expired, taken, session ended.
  not_owner,         ///< The caller does not hold what it tries to change (released, moved from).
  unavailable,       ///< The store did not answer; it may later.
  rejected,          ///< The store answered and refused: rights, a full disk, a corrupt file, a name in other use.
  invalid_argument,  ///< A URL, name, option or number is malformed; the text names the part.
  unsupported,       ///< This store or build cannot do it, and never will until it is changed.
  deadlock,          ///< Waiting would never end: the caller waits for itself, or others for each other (sql).
};

/// The category of errc. Its messages are whole sentences.
HOLDFAST_EXPORT const std::error_category& category() noexcept;
HOLDFAST_EXPORT std::error_code make_error_code(errc code) noexcept;

/// What went wrong, as a value. `detail` keeps the store's own words (an SQLite code, a SQLSTATE), never a password.
struct failure {
  std::error_code code;
  std::string detail;
};

/// Thrown by blocking calls. what() reads "<operation> '<name>': <message> (<detail>)".
class HOLDFAST_EXPORT error : public std::system_error {
 public:
  error(failure why, std::string operation, std::string name);
  explicit error(failure why);

  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& operation() const noexcept { return operation_; }
  const std::string& name() const noexcept { return name_; }
  const std::string& detail() const noexcept { return detail_; }

 private:
  std::string operation_;
  std::string name_;
  std::string detail_;
  std::string what_;
};

}  // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
