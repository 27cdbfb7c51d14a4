#pragma once

#include "session.hpp"
#include "wait_queue.hpp"

#include <holdfast/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memory {

/// The number behind a counting_semaphore or latch, and who waits for it.
///
/// Thread safety: none; the store's shard is locked.
class count_state {
 public:
  explicit count_state(spi::kind kind) : kind_(kind) {}

  spi::kind kind() const noexcept { return kind_; }
  /// Does it mean anything to anybody? A semaphore that was set does for ever, a latch until it is open.
  bool in_use() const noexcept;

  spi::entry_result enter(const spi::entry_request& request, const std::shared_ptr<session>& client,
                          spi::time_point now);
  std::optional<spi::wake> watch(const spi::owner_id& id, spi::completion<spi::wake>& done, wakeups& woken);
  bool leave(const spi::owner_id& id, wakeups& woken);
  result<spi::count_reply> apply(const spi::count_request& request, wakeups& woken);
  void forget_waiters_of(const session& client, wakeups& woken);

  bool waited_for() const noexcept { return !queue_.empty(); }
  entry describe(const std::string& name, spi::time_point now) const;

 private:
  struct remembered {
    spi::owner_id id;
    std::uint32_t taken = 0;  // permits taken by an enter; 0: a step of apply()
    spi::count_reply reply;
  };

  bool passes(std::uint32_t permits) const noexcept;
  void take(const spi::owner_id& id, std::uint32_t permits);
  void pass_next(wakeups& woken);
  result<spi::count_reply> step(const spi::count_request& request);
  remembered* recall(const spi::owner_id& id) noexcept;
  void remember(remembered what);

  spi::kind kind_;
  bool set_ = false;
  std::int64_t value_ = 0;
  wait_queue queue_;
  // Let through while nobody watched them. Kept until they watch, enter again or leave: what the number is by then
  // must not change what they got.
  std::vector<waiter> unclaimed_;
  // The latest steps, so that one sent again is not taken again. A ring.
  std::vector<remembered> recent_;
  std::size_t oldest_ = 0;
};

}  // namespace holdfast::memory
