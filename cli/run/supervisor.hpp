#pragma once

#include "request.hpp"

namespace holdfast::cli {

/// Runs the request and returns its exit code.
///
/// The calling process, which the user's shell knows, becomes the supervisor: it passes signals on, stops and continues
/// with the command, and steps in when the keeper, the process that holds the lock, is killed or stopped.
///
/// Requires: the process has one thread. Returns in the keeper too: its caller just goes on to exit with the code.
int supervise(const run_request& request);

}  // namespace holdfast::cli
