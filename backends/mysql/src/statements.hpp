#pragma once

#include "layout.hpp"
#include "statement.hpp"

#include <string>

namespace holdfast::mysql {

/// Everything that is asked of the tables. Each `?` is the place of an argument. Of ShedLock's table less is asked.
sql::statements statements_for(const sql::layout& which);

/// The text of a statement with its arguments in it. Bytes are written as digits: nothing is left to be escaped.
std::string written(const sql::statement& what, const sql::arguments& with);

}  // namespace holdfast::mysql
