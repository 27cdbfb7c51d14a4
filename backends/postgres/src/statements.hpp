#pragma once

#include "session.hpp"
#include "statement.hpp"

#include <string_view>

namespace holdfast::postgres {

/// Everything that is asked of the tables in one schema; the routines are in backends/sql.
sql::statements statements_for(std::string_view schema);
sql::session_statements session_statements_for(std::string_view schema);

}  // namespace holdfast::postgres
