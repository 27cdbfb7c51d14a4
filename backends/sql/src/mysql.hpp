#pragma once

#include "layout.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The tables and routines as MySQL and MariaDB have them: procedures, each with a transaction inside, that answer with
/// one row. They are told apart from other tables of the database by a prefix.
namespace holdfast::sql::mysql {

/// `name` as an identifier: in backticks.
std::string quoted(std::string_view name);

/// Can it stand before the names of tables and routines? Small letters, digits and `_`: servers that fold the case of
/// names, or do not, have the same ones then.
bool is_prefix(std::string_view text);

/// The lock (GET_LOCK) of who makes or changes the tables.
constexpr std::string_view making_lock = "holdfast_making";

/// What routines are made with, and keep: the server's own may be Oracle's.
constexpr std::string_view sql_mode = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION";

/// Before the number of a client that listens: the lock (GET_LOCK) that it holds meanwhile.
constexpr std::string_view ear_lock = "holdfast_";

/// The variable of a session that says for how long a lock is kept at least, in microseconds; of ShedLock's table.
constexpr std::string_view at_least = "@holdfast_at_least";

/// Of the names in ShedLock's table, where it is made by us.
constexpr std::string_view usual_collation = "utf8mb4_bin";

/// A table or routine; `shedlock`: ShedLock's.
std::string table(const layout& which, std::string_view name);

/// Under what the table `meta` has the version.
std::string version_key(const layout& which);

/// What makes the tables and routines, or brings them up to date: statements without semicolons, in order.
std::vector<std::string> statements(const layout& which);

/// What lets `account` (user, or user@host) use them without any right to make or change tables.
std::vector<std::string> grants(const layout& which, std::string_view account);

/// All of it as a script for the command `mysql` or `mariadb`. An empty account: nobody is granted anything.
std::string script(const layout& which, std::string_view account);

/// The routine that is beside those of routines(): its one argument has 16 bytes of owner, 8 of ttl and 2 of length,
/// the highest first, and then the name, for each claim; its answer a digit for each.
constexpr std::string_view renew_all = "renew_all";
/// And the one that answers with who holds and who waits, for names from its first argument up to but not including its
/// second.
constexpr std::string_view inspect = "inspect";
/// What was told to a client: seq, client, letter, written.
constexpr std::string_view mail = "mail";

}  // namespace holdfast::sql::mysql
