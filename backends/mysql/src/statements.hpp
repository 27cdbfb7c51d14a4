#pragma once

#include "statement.hpp"

#include <string>
#include <string_view>

namespace holdfast::mysql {

/// Everything that is asked of the tables whose names begin with `prefix`. Each `?` is the place of an argument.
sql::statements statements_for(std::string_view prefix);

/// The text of a statement with its arguments in it. Bytes are written as digits: nothing is left to be escaped.
std::string written(const sql::statement& what, const sql::arguments& with);

}  // namespace holdfast::mysql
