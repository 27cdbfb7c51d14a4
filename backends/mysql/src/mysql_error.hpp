#pragma once

#include <holdfast/result.hpp>

#include <string_view>

namespace holdfast::mysql {

/// What an error number of the server or of the driver means; `words` are what was said with it.
failure failure_of(unsigned number, std::string_view words);

/// Is the connection of no more use after it?
bool ends_connection(unsigned number) noexcept;

/// Was it rolled back whole, so that it may be asked again at once?
bool deadlock_victim(unsigned number) noexcept;

/// Is it that somebody else keeps a row locked?
bool row_kept(const failure& why);

}  // namespace holdfast::mysql
