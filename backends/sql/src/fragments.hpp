#pragma once

#include <string_view>

namespace holdfast::sql {

/// What several routines have in common, by its name: open, bury, admit, admit_number, save, busy, ...
std::string_view fragment(std::string_view name);

}  // namespace holdfast::sql
