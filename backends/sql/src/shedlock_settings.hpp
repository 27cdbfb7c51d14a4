#pragma once

#include "layout.hpp"

#include <holdfast/uri.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace holdfast::sql {

/// What a URL says of ShedLock's table.
struct shedlock_settings {
  layout tables;
  std::chrono::microseconds at_least{0};
};

/// Takes layout=, and with layout=shedlock table= and at-least=. Empty: the tables are to be our own.
/// errc::invalid_argument names the part that is wrong.
result<std::optional<shedlock_settings>> take_shedlock(uri& where, std::string_view usual_schema);

}  // namespace holdfast::sql
