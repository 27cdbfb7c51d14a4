#pragma once

#include <holdfast/result.hpp>

#include <string_view>

namespace holdfast::mysql {

/// What an error number of the server or of the driver means; `words` are what was said with it.
failure failure_of(unsigned number, std::string_view words);

/// Is the connection of no more use after it?
bool ends_connection(unsigned number) noexcept;
/// Somebody stopped the statement (KILL QUERY, max_statement_time): a procedure that is stopped between two of its
/// steps leaves its transaction open, its handlers unasked. The next one would commit half of it.
bool leaves_transaction_open(unsigned number) noexcept;

/// Was it rolled back whole, so that it may be asked again at once?
bool deadlock_victim(unsigned number) noexcept;

/// Is it that somebody else keeps a row locked?
bool row_kept(const failure& why);

}  // namespace holdfast::mysql
