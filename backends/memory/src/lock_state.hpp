#pragma once

#include "session.hpp"
#include "wait_queue.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memory {

/// Everything about one name used as a mutex, shared_mutex or permit_semaphore: who is in, who is in line, the tokens.
///
/// Pure: time comes in, and who is to be woken goes out, as arguments. Ended grants leave at the next touch, and every
/// change lets in whoever is first in line and fits, so nobody fits while somebody stands in line before him.
///
/// Thread safety: none; the store's shard is locked.
class lock_state {
 public:
  explicit lock_state(std::uint64_t last_token) : last_token_(last_token) {}

  /// Held or waited for. Grants whose time is over count until somebody calls sweep().
  bool in_use() const noexcept { return !holders_.empty() || !queue_.empty(); }
  spi::kind kind() const noexcept { return kind_; }
  std::uint64_t last_token() const noexcept { return last_token_; }

  result<spi::entry_result> enter(const spi::entry_request& request, const std::shared_ptr<session>& client,
                                  spi::time_point now, wakeups& woken);
  /// Takes the watch if the claim is in line; else it is left in place and what is returned ends it.
  std::optional<spi::wake> watch(const spi::owner_id& id, spi::completion<spi::wake>& done, wakeups& woken);
  /// Call sweep() after it if anybody is left: an uncontended release need not look at the clock.
  bool leave(const spi::owner_id& id, wakeups& woken);
  spi::renewal_outcome renew(const spi::owner_id& id, std::chrono::nanoseconds ttl, spi::time_point now,
                             wakeups& woken);
  result<bool> convert(const spi::owner_id& id, spi::access to, spi::time_point now, wakeups& woken);
  result<bool> raise(const spi::owner_id& id, fencing_token floor, spi::time_point now, wakeups& woken);

  void sweep(spi::time_point now, wakeups& woken);
  void forget_waiters_of(const session& client, spi::time_point now, wakeups& woken);

  entry describe(const std::string& name, spi::time_point now) const;
  struct owned {
    spi::owner_id id;
    std::shared_ptr<session> client;
  };
  std::vector<owned> holders() const;

 private:
  struct holder {
    spi::owner_id id;
    spi::access access;
    std::uint32_t permits;
    spi::granted grant;
    spi::time_point since;
    std::shared_ptr<session> client;
  };

  holder* find(const spi::owner_id& id) noexcept;
  std::optional<failure> clash(const spi::claim& wanted) const;
  bool fits(spi::access access, std::uint32_t permits) const noexcept;
  spi::granted admit(const wish& who, std::shared_ptr<session> client, spi::time_point now);
  void erase(holder* gone);
  void admit_next(spi::time_point now, wakeups& woken);
  spi::busy busy_until_next_expiry(spi::time_point now) const noexcept;

  spi::kind kind_ = spi::kind::mutex;
  std::uint32_t limit_ = 1;
  std::uint32_t used_ = 0;  // permits in use; for other kinds the number of holders
  std::uint64_t last_token_;
  std::vector<holder> holders_;
  wait_queue queue_;
};

/// As inspect shows a holder or waiter.
participant describe_participant(const spi::owner_id& id, const session& client, spi::time_point since,
                                 spi::time_point now);
/// The refusal of a name that is in other use.
failure other_kind(const std::string& name, spi::kind wanted, spi::kind present);

}  // namespace holdfast::memory
