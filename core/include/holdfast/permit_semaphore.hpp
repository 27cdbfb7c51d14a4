#pragma once

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

namespace holdfast {

/// At most `n` permits of `name` in use at a time; each is a lease, and a crash gives it back.
///
/// All users must agree on `n`: while permits are in use under another number, errc::rejected.
///
/// Thread safety: safe. Blocks on: the store. Lost when: as mutex. Tokens are distinct and increase from grant to
/// grant, but several holders are inside at once: a fence that refuses the older token refuses a rightful holder.
class HOLDFAST_EXPORT permit_semaphore {
 public:
  /// Throws holdfast::error: invalid_argument (the name, n = 0), unsupported.
  permit_semaphore(client c, std::string name, std::uint32_t n, lock_options options = {});

  /// `permits` of them in one lease, together or not at all. More than n: errc::invalid_argument.
  [[nodiscard]] lease acquire(acquire_options options = {}, std::stop_token stop = {}, std::uint32_t permits = 1);
  [[nodiscard]] std::optional<lease> try_acquire(acquire_options options = {}, std::stop_token stop = {},
                                                 std::uint32_t permits = 1);
  operation<lease> async_acquire(acquire_options options = {}, std::stop_token stop = {}, std::uint32_t permits = 1);

  const std::string& name() const noexcept { return name_; }
  std::uint32_t limit() const noexcept { return limit_; }

 private:
  client client_;
  std::string name_;
  std::uint32_t limit_;
  lock_options options_;
};

}  // namespace holdfast
