#pragma once

#include <holdfast/sql/connection.hpp>

#include <string_view>

namespace holdfast::sql::detail {

/// What a refusal means to who asked; the detail ends with the native code.
failure failure_of(flavour from, const refusal& why);

/// A deadlock victim, or one that could not be put in order with others: nothing is wrong with it.
bool retryable(flavour from, std::string_view code) noexcept;

/// Somebody else has the row, and the limit of the wait is over.
bool waited_in_vain(flavour from, std::string_view code) noexcept;

/// The tables of Holdfast are not there.
bool lacks_tables(flavour from, std::string_view code) noexcept;

}  // namespace holdfast::sql::detail
