#pragma once

#include "request.hpp"
#include "signals.hpp"

#include <holdfast/token.hpp>

#include <sys/types.h>

namespace holdfast::cli {

/// Starts the command as a child of this process, with HOLDFAST_NAME and HOLDFAST_TOKEN, and with the signals,
/// descriptors and process group that `holdfast run` was given. The kernel kills it when this process dies.
/// A command that cannot be run says so and exits with 126 or 127. Throws std::system_error if there is no process to
/// be had.
///
/// Requires: called by the thread that lives as long as the process: "dies" means that thread.
pid_t start_command(const run_request& request, fencing_token token, const inherited_signals& before);

}  // namespace holdfast::cli
