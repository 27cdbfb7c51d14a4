#pragma once

#include <chrono>
#include <string>

namespace holdfast::cli {

/// `2026-11-15T20:47:44.123Z`: RFC 3339, UTC, milliseconds.
std::string rfc3339(std::chrono::system_clock::time_point when);

/// `850ms`, `9.3s`, `4m05s`, `2h10m`, `3d4h`: for people.
std::string brief_duration(std::chrono::nanoseconds length);

}  // namespace holdfast::cli
