#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::file {

/// The name of the file that stands for a lock.
///
/// Letters, digits, '.', '_' and '-' stay, every other byte and a leading '.' become %XX. What would be longer than 200
/// bytes (file systems allow 255) keeps its beginning and gets '~' and a hash of 128 bits; the file carries the name.
std::string to_file_name(std::string_view lock_name);

/// The lock a file stands for; nullopt if the file is none of ours or its name was cut (see is_cut).
std::optional<std::string> to_lock_name(std::string_view file_name);
bool is_cut(std::string_view file_name) noexcept;

}  // namespace holdfast::file
