#pragma once

#include "face.hpp"

#include <holdfast/mutex.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace holdfast::detail {

using mutex_list = std::vector<std::reference_wrapper<mutex>>;

/// What a wait needs of a member, kept by itself: the mutex object may be gone while a cancelled wait cleans up.
struct group_member {
  std::shared_ptr<detail::engine> engine;
  spi::claim claim;
};
std::vector<group_member> members_of(const mutex_list& members);

/// The members in the one order all processes use: by store, then by name. Throws errc::invalid_argument for none,
/// errc::deadlock for one twice.
mutex_list in_common_order(mutex_list members, const char* what);

/// Begins an acquisition of several locks; calls back once, with one hold for all of it. Cancel through the returned
/// function.
using begin_combined = std::function<void()> (*)(const mutex_list&, const acquire_options&, std::stop_token,
                                                 acquisition::completion);
std::function<void()> begin_all(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                                acquisition::completion done);
std::function<void()> begin_majority(const mutex_list& members, const acquire_options& options, std::stop_token stop,
                                     acquisition::completion done);

/// The three faces over either.
lease acquire_combined(begin_combined begin, const mutex_list& members, const acquire_options& options,
                       std::stop_token stop);
std::optional<lease> try_acquire_combined(begin_combined begin, const mutex_list& members, acquire_options options,
                                          std::stop_token stop);
operation<lease> async_acquire_combined(begin_combined begin, const mutex_list& members, const acquire_options& options,
                                        std::stop_token stop);

/// What went wrong before anything began: bad options, a stopped token.
result<void> check_combined(const acquire_options& options, const std::stop_token& stop);

/// "a+b+c": what a lease over several locks calls itself.
std::string combined_name(const mutex_list& members);

}  // namespace holdfast::detail
