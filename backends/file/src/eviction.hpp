#pragma once

#include "directory.hpp"

#include <holdfast/result.hpp>

#include <string>

namespace holdfast::file {

/// Puts a fresh file in the place of a lock's, with tokens above all that were drawn from the old one. Whoever holds
/// the old file holds nothing any more, and is told by the kernel (doorbell). False: nobody holds it. Requires: not
/// remote.
result<bool> replace_lock_file(const directory& where, const std::string& name);

}  // namespace holdfast::file
