#pragma once

#include <holdfast/sql/connection.hpp>

#include <memory>

struct st_mysql;  // MYSQL of MariaDB Connector/C

namespace holdfast::mysql {

/// A MYSQL of MariaDB Connector/C, connected to MariaDB or MySQL, as holdfast::sql uses it. It stays the
/// caller's, who may go on using it directly, in the same transactions, and who closes it, after what this returns is
/// gone. Link holdfast::mysql. (MySQL's own libmysqlclient has another type of that name: derive from sql::connection
/// for it.)
///
/// Requires: connected, with no result left unread.
///
/// Thread safety: none, as with the connection itself.
[[nodiscard]] HOLDFAST_EXPORT std::unique_ptr<sql::connection> connection_of(st_mysql* yours);

}  // namespace holdfast::mysql
