#pragma once

// Locks on your own tables, in your own transactions, over the connection you already have. docs/sql.md has the four
// patterns and when to use which. A connection of libpq or of MariaDB Connector/C is used with
// holdfast/postgres.hpp or holdfast/mysql.hpp; for any other driver derive from sql::connection.
#include <holdfast/sql/connection.hpp>
#include <holdfast/sql/fenced_table.hpp>
#include <holdfast/sql/transaction.hpp>
#include <holdfast/sql/versioned_table.hpp>
