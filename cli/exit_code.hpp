#pragma once

#include <holdfast/error.hpp>

/// What the command answers with; docs/command.md has the same table.
namespace holdfast::cli::exit_code {

inline constexpr int ok = 0;
inline constexpr int failed = 1;         ///< The question was answered, and the answer is no.
inline constexpr int usage = 64;         ///< A flag, name, number or URL is wrong, or this store cannot do it.
inline constexpr int unavailable = 69;   ///< The store cannot be reached, or refuses.
inline constexpr int internal = 70;      ///< Something of ours broke.
inline constexpr int not_obtained = 75;  ///< Somebody else had the lock all the time.
inline constexpr int lost = 76;          ///< The lock was lost while the command ran.
inline constexpr int not_runnable = 126;
inline constexpr int not_found = 127;

/// As shells say it of a command that a signal ended.
constexpr int of_signal(int number) { return 128 + number; }

int of_error(const std::error_code& code);

}  // namespace holdfast::cli::exit_code
