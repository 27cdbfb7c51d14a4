#pragma once

#include "directory.hpp"

#include <holdfast/backend.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::file {

/// Who holds a lock and who waits for it, as the kernel's lock table and the record tell; nullopt: nobody.
///
/// Read without a lock: of a lock that is just changing hands the holder shown may be the one before, or unknown (pid
/// 0).
std::optional<entry> look_at(const directory& where, const std::string& name);
/// All that are held or waited for, by name.
result<std::vector<entry>> look_at_all(const directory& where, const std::string& prefix);

}  // namespace holdfast::file
