#pragma once

#include <string_view>

/// Writing without streams: iostream and its locales cost more at start-up than taking a lock.
namespace holdfast::cli {

/// Writes all of it to standard output at once. Exits when nobody can read it any more.
void print(std::string_view text);

/// One line on standard error, `holdfast: ...`, in one write so that lines of several processes do not mix.
void say(std::string_view line) noexcept;

}  // namespace holdfast::cli
