#pragma once

#include "layout.hpp"
#include "statement.hpp"

namespace holdfast::postgres {

/// Everything that is asked of the tables; the routines are in backends/sql. Of ShedLock's table less is asked.
sql::statements statements_for(const sql::layout& which);

}  // namespace holdfast::postgres
