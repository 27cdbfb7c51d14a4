#pragma once

#include "descriptor.hpp"
#include "directory.hpp"
#include "lock_bytes.hpp"
#include "record.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::file {

/// One open file description of a lock file: one contender for the name, in the kernel's eyes as in ours.
///
/// Waiting is by tickets, because the kernel's own queue lets a releaser take the lock again before the waiter it woke
/// runs. Who has to wait draws a ticket, locks its byte, and waits for the byte before it. A releaser that sees tickets
/// draws one itself next time. Order is kept that way, not safety: safe is what the use bytes make it, and a waiter
/// that died, or a newcomer that finds the lock free, changes only the order.
///
/// Thread safety: none.
class lock_file {
 public:
  enum class step {
    taken,
    busy,
    stale,  ///< The file was removed meanwhile: open it again.
  };
  enum class order {
    in_turn,   ///< Not before those who drew earlier tickets.
    any_time,  ///< Whenever it is free: somebody before us may be stopped for good.
  };

  static result<std::unique_ptr<lock_file>> open(std::shared_ptr<const directory> where, const std::string& name);

  const std::string& name() const noexcept { return name_; }

  /// One attempt of a newcomer.
  result<step> try_enter(const spi::entry_request& request, const holder& who);
  /// mutex and shared_mutex: waits in the kernel as long as it takes.
  result<step> wait_and_enter(const spi::entry_request& request, const holder& who);

  /// Gets a place in line, to be woken by the doorbell. False: the guard is busy; try again soon.
  result<bool> line_up(const holder& who);
  bool in_line() const noexcept { return ticket_ != 0; }
  std::uint64_t ticket() const noexcept { return ticket_; }
  /// Would leave() change anything but a grant?
  bool is_lining_up() const noexcept { return ticket_ != 0 || watching_; }
  /// One attempt of one in line.
  result<step> try_enter_from_line(const spi::entry_request& request, const holder& who, order how);

  /// The first token of the grant. Requires: taken.
  std::uint64_t first_token() const noexcept { return first_token_; }
  /// Was somebody waiting when we last left? Then it is polite to line up.
  bool should_line_up() const noexcept { return others_waited_; }

  /// Ends whatever there is, grant or place in line, and wakes who is next.
  void leave() noexcept;
  /// Is the file still the store's, and the grant in it?
  spi::renewal look_after(const spi::owner_id& owner) const;
  /// shared_mutex. False: not possible now.
  result<bool> convert(spi::access to, const holder& who);
  bool is_exclusive() const noexcept { return exclusive_; }
  /// Is there another file of this name by now, or none?
  bool was_removed() const noexcept;
  /// Safe on the disk before it returns.
  result<void> raise(std::uint64_t floor);

 private:
  enum class guarding { tries, waits };
  struct slot_run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  lock_file(std::shared_ptr<const directory> where, std::string name, descriptor fd);

  result<bool> lock_guard(guarding how) const;
  void unlock_guard() const noexcept { unlock(fd_.get(), guard_byte); }
  void ring() noexcept;
  result<bool> downgrade(const holder& who);
  result<bool> upgrade(const holder& who);
  result<bool> draw(const holder& who, guarding how);

  result<step> take(const spi::entry_request& request, const holder& who);
  result<step> take_if_current(const spi::entry_request& request, const holder& who);
  result<step> try_use(const spi::claim& wanted) const;
  std::optional<failure> clash(const spi::claim& wanted) const;
  /// The use bytes are ours: now the record. May wait for the guard.
  result<step> settle(const spi::entry_request& request, const holder& who);
  result<void> settle_exclusive(const spi::entry_request& request, holder who);
  result<step> settle_beside_others(const spi::entry_request& request, holder who);
  void leave_line_behind() noexcept;
  void let_the_next_in_beside(const result<step>& entered) noexcept;
  result<void> draw_tokens(const spi::entry_request& request, header& now);
  std::optional<failure> clash_beside_others(const spi::claim& wanted, const header& now) const;
  result<void> take_reader_slot();
  result<bool> take_permit_slots(std::uint32_t permits, std::uint32_t limit);
  result<void> write_slots(const holder& who) const;
  void give_back_use() noexcept;

  const std::shared_ptr<const directory> where_;
  const std::string name_;
  const descriptor fd_;
  bool name_checked_ = false;
  bool others_waited_ = false;
  bool exclusive_ = true;     // how it is held
  bool watching_ = false;     // is watched_byte locked?
  std::uint64_t ticket_ = 0;  // 0: none
  std::uint64_t first_token_ = 0;
  std::uint32_t favourite_slot_;
  std::vector<slot_run> slots_;
};

}  // namespace holdfast::file
