#pragma once

#include "connection.hpp"

#include <holdfast/backend.hpp>

#include <string>
#include <string_view>

namespace holdfast::sqlite {

/// Cells and fences: single rows without waiters. Members throw sql_error.
///
/// Thread safety: under the connection's mutex. load and newest want no transaction, the others one for writing.
class registers {
 public:
  explicit registers(connection& db);

  spi::cell_value load(std::string_view name);
  /// True also for the one who wrote just this version with the same id.
  bool exchange(std::string_view name, std::uint64_t expected, std::string_view value, const spi::owner_id& id);

  fencing_token newest(std::string_view name);
  fencing_token admit(std::string_view name, fencing_token token);

 private:
  statement load_, writer_, insert_, update_;
  statement newest_, admit_;
};

}  // namespace holdfast::sqlite
