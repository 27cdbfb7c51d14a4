#pragma once

#include <holdfast/result.hpp>

#include <string_view>

namespace holdfast::detail {

inline constexpr std::size_t max_name_bytes = 512;

/// 1 to 512 bytes of UTF-8 without control characters; otherwise errc::invalid_argument naming the offending byte.
HOLDFAST_EXPORT result<void> check_name(std::string_view name);

}  // namespace holdfast::detail
