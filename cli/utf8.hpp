#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::cli {

/// How many bytes the first character of `text` has; 0 if they are not UTF-8 (overlong forms and surrogates are not).
/// Requires: text is not empty.
std::size_t utf8_length(std::string_view text) noexcept;

/// `text` as it may be put on a terminal: control characters and what is not UTF-8 become `?`.
std::string printable(std::string_view text);

/// How many characters `text` has.
std::size_t utf8_count(std::string_view text) noexcept;

}  // namespace holdfast::cli
