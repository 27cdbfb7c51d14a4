// How a lock_file gets in: the kernel's lock first, then the record.
#include "lock_file.hpp"

#include "errno_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast::file {
namespace {

failure in_other_use(const std::string& name, spi::kind wanted, spi::kind present) {
  return {errc::rejected, "'" + name + "' is in use as a " + to_string(present) + "; it cannot be a " +
                              to_string(wanted) + " at the same time"};
}

/// Slots below `limit` that nobody has, lowest first, until there are `wanted`. Requires: the guard.
std::vector<std::uint32_t> free_slots(int fd, std::uint32_t limit, std::uint32_t wanted) {
  std::vector<std::uint32_t> free;
  off_t next = first_slot;
  const auto up_to = [&](off_t end) {
    for (; next < end && free.size() < wanted; ++next) free.push_back(static_cast<std::uint32_t>(next - first_slot));
    next = std::max(next, end);
  };
  for (const found_lock& taken : find_locks(fd, slot_bytes(0, limit))) {
    up_to(taken.start);
    next = taken.end;
  }
  up_to(first_slot + off_t{limit});
  return free;
}

}  // namespace

result<lock_file::step> lock_file::take(const spi::entry_request& request, const holder& who) {
  if (wants_all(request.claim)) {
    auto used = try_use(request.claim);
    if (!used || *used != step::taken) return used;
    return settle(request, who);
  }
  // Under the guard from the start: what others have locked beside it then is really in use, and permits are looked for
  // and taken in one step.
  auto guard = lock_guard(guarding::tries);
  if (!guard) return guard.error();
  auto used = *guard ? try_use(request.claim) : step::busy;
  if (used && *used == step::taken) used = settle_beside_others(request, who);
  if (*guard) unlock_guard();
  let_the_next_in_beside(used);
  return used;
}

result<lock_file::step> lock_file::try_use(const spi::claim& wanted) const {
  const auto type = wants_all(wanted) ? lock_type::write : lock_type::read;
  const int error = try_lock(fd_.get(), use_of(wanted), type);
  if (error == 0) return step::taken;
  if (error != EAGAIN) return from_errno(error, "locking the lock file");
  if (auto refused = clash(wanted)) return *refused;
  return step::busy;
}

std::optional<failure> lock_file::clash(const spi::claim& wanted) const {
  int ignored = 0;
  const auto use = find_lock(fd_.get(), use_bytes, ignored);
  if (!use || kind_of(*use) == wanted.kind) return std::nullopt;
  return in_other_use(wanted.name, wanted.kind, kind_of(*use));
}

result<lock_file::step> lock_file::settle(const spi::entry_request& request, const holder& who) {
  if (!wants_all(request.claim)) {
    if (auto guard = lock_guard(guarding::waits); !guard) return guard.error();
    auto settled = settle_beside_others(request, who);
    unlock_guard();
    let_the_next_in_beside(settled);
    return settled;
  }
  if (was_removed()) return give_back_use(), step::stale;
  if (auto settled = settle_exclusive(request, who); !settled) return give_back_use(), settled.error();
  if (std::exchange(watching_, false)) unlock(fd_.get(), watched_byte);
  return step::taken;
}

result<void> lock_file::settle_exclusive(const spi::entry_request& request, holder who) {
  auto now = read_header(fd_.get());
  if (!now) return now.error();
  if (auto drawn = draw_tokens(request, *now); !drawn) return drawn;
  who.token = first_token_;
  exclusive_ = true;
  return write_header(fd_.get(), *now, who);
}

result<lock_file::step> lock_file::settle_beside_others(const spi::entry_request& request, holder who) {
  if (was_removed()) return give_back_use(), step::stale;
  auto now = read_header(fd_.get());
  if (!now) return give_back_use(), now.error();
  if (auto refused = clash_beside_others(request.claim, *now)) return give_back_use(), *refused;
  if (request.claim.kind == spi::kind::permits) {
    auto enough = take_permit_slots(request.claim.permits, request.claim.limit);
    if (!enough) return give_back_use(), enough.error();
    if (!*enough) return give_back_use(), step::busy;
  } else if (auto slot = take_reader_slot(); !slot) {
    return give_back_use(), slot.error();
  }
  auto written = draw_tokens(request, *now);
  who.token = first_token_;
  exclusive_ = false;
  if (written) written = write_header(fd_.get(), *now);
  if (written) written = write_slots(who);
  if (!written) return give_back_use(), written.error();
  return step::taken;
}

void lock_file::let_the_next_in_beside(const result<step>& entered) noexcept {
  if (!entered || *entered != step::taken || !in_line()) return;
  leave_line_behind();
  ring();
}

/// Changes the header to what must be written. A new file gets its name; another lock's name is a clash of hashes.
result<void> lock_file::draw_tokens(const spi::entry_request& request, header& now) {
  if (now.name_length == 0) {
    if (auto written = write_name(fd_.get(), name_); !written) return written;
    now.name_length = static_cast<std::uint32_t>(name_.size());
  } else if (!name_checked_) {
    const auto name = read_name(fd_.get(), now);
    if (!name) return name.error();
    if (*name != name_) return {errc::rejected, "its lock file belongs to another name, '" + *name + "'"};
  }
  name_checked_ = true;
  first_token_ = std::max(now.last_token, where_->token_floor()) + 1;
  now.last_token = first_token_ + request.tokens - 1;
  now.kind = request.claim.kind;
  now.limit = request.claim.limit;
  return {};
}

/// Two read locks do not exclude each other: readers and permits must be told apart by the record and a second look.
std::optional<failure> lock_file::clash_beside_others(const spi::claim& wanted, const header& now) const {
  if (now.name_length == 0) return std::nullopt;
  if (now.kind != wanted.kind) {
    const bool is_reader = wanted.kind == spi::kind::shared_mutex;
    if (!is_locked(fd_.get(), is_reader ? permits_byte : reader_byte)) return std::nullopt;
    return in_other_use(wanted.name, wanted.kind, is_reader ? spi::kind::permits : spi::kind::shared_mutex);
  }
  if (wanted.kind != spi::kind::permits || now.limit == wanted.limit || !is_locked(fd_.get(), permits_byte)) {
    return std::nullopt;
  }
  return failure{errc::rejected, "'" + wanted.name + "' is in use with " + std::to_string(now.limit) +
                                     " permits; it cannot have " + std::to_string(wanted.limit) + " at the same time"};
}

result<void> lock_file::take_reader_slot() {
  for (std::uint32_t slot = favourite_slot_;; ++slot) {
    const int error = try_lock(fd_.get(), slot_bytes(slot, 1), lock_type::write);
    if (error == EAGAIN) continue;
    if (error != 0) return from_errno(error, "locking the lock file");
    favourite_slot_ = slot;
    slots_.push_back({slot, 1});
    return {};
  }
}

result<bool> lock_file::take_permit_slots(std::uint32_t permits, std::uint32_t limit) {
  const auto free = free_slots(fd_.get(), limit, permits);
  if (free.size() < permits) return false;
  for (const std::uint32_t slot : free) {
    if (!slots_.empty() && slots_.back().first + slots_.back().count == slot) {
      ++slots_.back().count;
    } else {
      slots_.push_back({slot, 1});
    }
  }
  for (const slot_run& run : slots_) {
    const int error = try_lock(fd_.get(), slot_bytes(run.first, run.count), lock_type::write);
    if (error != 0) return from_errno(error, "locking permits");
  }
  return true;
}

result<void> lock_file::write_slots(const holder& who) const {
  for (const slot_run& run : slots_) {
    for (std::uint32_t slot = run.first; slot != run.first + run.count; ++slot) {
      if (auto written = write_slot(fd_.get(), slot, who); !written) return written;
    }
  }
  return {};
}

void lock_file::give_back_use() noexcept {
  for (const slot_run& run : slots_) unlock(fd_.get(), slot_bytes(run.first, run.count));
  slots_.clear();
  unlock(fd_.get(), use_bytes);
}

}  // namespace holdfast::file
