#pragma once

#include "crew.hpp"
#include "row.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::bench {

using command_line = std::vector<std::string>;

/// Runs both in turns for `length` (and at least twenty times), each forked and executed from here. Both have run
/// before the first one counts. Throws measurement_error when one of them cannot be started or does not exit with 0.
command_times time_commands(const command_line& ours, const command_line& floor, std::chrono::nanoseconds length,
                            const progress_callback& progress);

/// The program that is running: `holdfast` when this is `holdfast bench`.
std::string own_path();

}  // namespace holdfast::bench
