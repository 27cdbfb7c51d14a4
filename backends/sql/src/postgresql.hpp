#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The tables and routines as PostgreSQL has them.
namespace holdfast::sql::postgresql {

/// `name` as an identifier: in double quotes.
std::string quoted(std::string_view name);

/// `text` in quotes that are not in it.
std::string dollar_quoted(const std::string& text);

/// The routines of scheme=session: an advisory lock, and its record in the tables.
std::vector<std::string> session_routines(std::string_view schema);

/// The advisory lock of who makes or changes the tables.
constexpr std::string_view making_lock = "7308895156789306482";

/// What makes the tables and routines, or brings them up to date: statements without semicolons, in order.
std::vector<std::string> statements(std::string_view schema);

/// What lets `role` use them without any right to make or change tables.
std::vector<std::string> grants(std::string_view schema, std::string_view role);

/// All of it as a script for psql. An empty role: nobody is granted anything.
std::string script(std::string_view schema, std::string_view role);

/// Who holds and who waits, for names from $1 up to but not including $2, in order.
std::string inspection(std::string_view schema);

}  // namespace holdfast::sql::postgresql
