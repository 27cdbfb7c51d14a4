#pragma once

#include <holdfast/error.hpp>

#include <libpq-fe.h>

#include <string>
#include <string_view>

namespace holdfast::postgres {

/// What a SQLSTATE means to the caller; `detail` keeps it and the server's own words.
failure failure_of(std::string_view sqlstate, std::string_view words);

failure failure_of(const PGresult* refused);
std::string_view sqlstate(const PGresult* refused);  ///< Empty: it is libpq that refused.

/// Is it that somebody else keeps a row locked?
bool row_kept(const failure& why);

/// Of a connection that broke or cannot be used.
failure failure_of(PGconn* broke);

/// Of one that could not be made. The server's words, without what might quote a secret.
failure failure_of_connecting(PGconn* failed, const std::string& where);

}  // namespace holdfast::postgres
