#pragma once

#include "engine.hpp"

#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <optional>
#include <stop_token>
#include <string>

namespace holdfast::detail {

/// The three faces of one acquisition: blocking and throwing, trying, and started. All primitives that give leases use
/// these; `claim` comes with name, kind, access, order and permits, the rest is filled in here.
lease acquire(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop);
std::optional<lease> try_acquire(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop);
operation<lease> async_acquire(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop);

/// The same for semaphores and latches, which give none. False: not in time.
bool pass(engine& e, spi::claim claim, const optional_duration& wait, std::stop_token stop, const char* operation);
operation<void> async_pass(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop);

/// What asks a lock of any shape for a lease, with a callback: quorums and multi-locks are built on it. The returned
/// acquisition (null if it could not begin) can be cancelled.
std::shared_ptr<acquisition> begin(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop,
                                   spi::caller from, acquisition::completion done);

/// Throws errc::invalid_argument for a bad name, errc::unsupported where the store lacks `what`.
void require(const client& c, const std::string& name, bool has, const char* what);
void require_order(const client& c, const std::string& name, const lock_options& options);

}  // namespace holdfast::detail
