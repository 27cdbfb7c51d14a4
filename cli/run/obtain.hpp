#pragma once

#include "inbox.hpp"
#include "request.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>

#include <variant>

namespace holdfast::cli {

/// Somebody ended the wait: the exit code to give.
struct cancelled {
  int exit_code;
};

/// Waits for the lock, listening all the while. Throws holdfast::error; timed_out if it was not obtained in time.
/// Whatever comes back but a lease, nothing of ours is left in the store.
std::variant<lease, cancelled> obtain(const client& store, const run_request& request, inbox& orders);

/// Has somebody ended the wait? Takes what has come so far.
std::optional<cancelled> look_for_cancellation(inbox& orders);

}  // namespace holdfast::cli
