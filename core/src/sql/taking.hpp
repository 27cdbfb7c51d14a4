#pragma once

#include <holdfast/options.hpp>
#include <holdfast/sql/connection.hpp>
#include <holdfast/token.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::sql::detail {

/// One attempt to take the row of a name, in the transaction that is open.
struct taking {
  connection& in;
  const char* operation;
  std::string name;
  std::string tables;
  optional_duration wait;  ///< Unset: for ever.

  /// Throws statement_failed, with a hint where the tables of Holdfast are missing.
  [[noreturn]] void fail(refusal why) const;
  /// Throws what fail() throws.
  reply ask(const std::string& statement, const std::vector<value>& values = {}) const;
  /// Of the answer `token, has it an owner, shares`; `holders`: asks for the number of those who share it. Throws
  /// holdfast::error (rejected) if it is leased.
  fencing_token token_of(const row& answer, const std::string& holders) const;
};

/// nullopt: not within the wait; the transaction goes on.
std::optional<fencing_token> take_in_postgresql(const taking& what);
std::optional<fencing_token> take_in_mysql(const taking& what);  ///< MariaDB too.

}  // namespace holdfast::sql::detail
