#pragma once

#include "channel.hpp"
#include "ledger.hpp"
#include "request.hpp"
#include "signals.hpp"

namespace holdfast::cli {

/// The process that holds the lock: connects, waits, starts the command, renews, ends what is left of the command, and
/// only then releases. Returns the exit code, which its supervisor repeats.
///
/// It is a process of its own because a lock must outlive whoever was killed in its name: when the supervisor is gone,
/// the keeper is there to end the command first and to release after.
int keep(const run_request& request, const inherited_signals& before, ledger& book, channel supervisor);

}  // namespace holdfast::cli
