#pragma once

#include <cstdint>

namespace holdfast::detail {

/// How many forks lie between the first process that loaded this library and this one. What was made in an older
/// generation belongs to the parent: its threads are not here and its locks are not ours.
std::uint64_t fork_generation() noexcept;

}  // namespace holdfast::detail
