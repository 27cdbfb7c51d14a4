#pragma once

#include "layout.hpp"

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
std::vector<std::string> session_routines(const layout& which);

/// The two numbers of the advisory lock by which calls take turns at the row of `name`, in parentheses.
///
/// Whoever waits for a row starts anew at its next version, behind those who came later: of hundreds some would wait
/// for seconds. Advisory locks are given out in turn. (Those of clients that listen have one number, not two.) It
/// comes before any look at the row: an UPDATE that found it changed keeps it locked, and would wait here in a circle.
std::string turn(const layout& which, std::string_view name);

/// The advisory lock of who makes or changes the tables.
constexpr std::string_view making_lock = "7308895156789306482";

/// The setting of a session that says for how long a lock is kept at least, in microseconds; of ShedLock's table.
constexpr std::string_view at_least = "holdfast.at_least";

/// As the server reads names that are not quoted, like those that ShedLock is given: in small letters.
layout unquoted(layout which);

/// A table or routine; `shedlock`: ShedLock's.
std::string table(const layout& which, std::string_view name);

/// What makes the tables and routines, or brings them up to date: statements without semicolons, in order.
std::vector<std::string> statements(const layout& which);

/// What lets `role` use them without any right to make or change tables.
std::vector<std::string> grants(const layout& which, std::string_view role);

/// All of it as a script for psql. An empty role: nobody is granted anything.
std::string script(const layout& which, std::string_view role);

/// Who holds and who waits, for names from $1 up to but not including $2, in order.
std::string inspection(const layout& which);

}  // namespace holdfast::sql::postgresql
