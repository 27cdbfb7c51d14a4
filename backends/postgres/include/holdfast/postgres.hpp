#pragma once

#include <holdfast/sql/connection.hpp>

#include <memory>

struct pg_conn;  // PGconn of libpq

namespace holdfast::postgres {

/// A PGconn of the caller's as holdfast::sql uses it. It stays the caller's, who may go on using it directly, in
/// the same transactions, and who closes it, after what this returns is gone. Link holdfast::postgres.
///
/// Requires: connected, neither in pipeline mode nor with a query under way.
///
/// Thread safety: none, as with the connection itself.
[[nodiscard]] HOLDFAST_EXPORT std::unique_ptr<sql::connection> connection_of(pg_conn* yours);

}  // namespace holdfast::postgres
