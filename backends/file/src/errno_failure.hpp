#pragma once

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::file {

/// What the operating system's `error` means to a lock: `what` failed, with its own words and number behind it.
failure from_errno(int error, const std::string& what);

}  // namespace holdfast::file
