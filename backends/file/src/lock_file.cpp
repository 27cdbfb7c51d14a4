#include "lock_file.hpp"

#include "errno_failure.hpp"
#include "file_name.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace holdfast::file {
namespace {

// The guard is held for a few system calls. This many turns are a millisecond or two; whoever keeps it longer was
// stopped, and nobody should hang with it.
constexpr int guard_attempts = 200;

failure locking_failed(int error) { return from_errno(error, "locking the lock file"); }

}  // namespace

result<std::unique_ptr<lock_file>> lock_file::open(std::shared_ptr<const directory> where, const std::string& name) {
  auto fd = where->open_file(to_file_name(name), directory::use::locking);
  if (!fd) return fd.error();
  return std::unique_ptr<lock_file>(new lock_file(std::move(where), name, std::move(*fd)));
}

lock_file::lock_file(std::shared_ptr<const directory> where, std::string name, descriptor fd)
    : where_(std::move(where)),
      name_(std::move(name)),
      fd_(std::move(fd)),
      // Spread a little, so that readers seldom try for the same slot; few, so that files stay small.
      favourite_slot_(static_cast<std::uint32_t>(::getpid() * 7 + fd_.get()) % 32) {}

result<lock_file::step> lock_file::try_enter(const spi::entry_request& request, const holder& who) {
  // Readers and permits would slip in beside their like for ever while somebody waits for all of them to go.
  if (!wants_all(request.claim) && is_locked(fd_.get(), waiting_bytes)) {
    if (was_removed()) return step::stale;
    if (auto refused = clash(request.claim)) return *refused;
    return step::busy;
  }
  return take_if_current(request, who);
}

result<lock_file::step> lock_file::take_if_current(const spi::entry_request& request, const holder& who) {
  auto outcome = take(request, who);
  // Whoever holds a file that was removed is not in the way of those who use the one made since.
  if ((!outcome || *outcome == step::busy) && was_removed()) return step::stale;
  return outcome;
}

result<lock_file::step> lock_file::wait_and_enter(const spi::entry_request& request, const holder& who) {
  if (!should_line_up()) {
    auto first = try_enter(request, who);
    if (!first || *first != step::busy) return first;
  } else if (auto refused = clash(request.claim)) {
    return was_removed() ? result<step>(step::stale) : *refused;
  }
  auto drawn = draw(who, guarding::waits);
  if (!drawn) return drawn.error();
  if (was_removed()) return step::stale;
  int error = wait_lock(fd_.get(), ticket_byte(ticket_ - 1), lock_type::read);
  if (error == 0)
    error = wait_lock(fd_.get(), use_of(request.claim), wants_all(request.claim) ? lock_type::write : lock_type::read);
  if (error != 0) return locking_failed(error);
  return settle(request, who);
}

result<bool> lock_file::line_up(const holder& who) {
  // Seen by every release from here on, so what happens after the attempt that follows is heard.
  if (const int error = try_lock(fd_.get(), watched_byte, lock_type::read); error != 0) return locking_failed(error);
  watching_ = true;
  return draw(who, guarding::tries);
}

result<lock_file::step> lock_file::try_enter_from_line(const spi::entry_request& request, const holder& who,
                                                       order how) {
  int error = 0;
  if (how == order::in_turn) error = try_lock(fd_.get(), ticket_byte(ticket_ - 1), lock_type::read);
  if (error != 0 && error != EAGAIN) return locking_failed(error);
  if (error == EAGAIN) return was_removed() ? step::stale : step::busy;
  return take_if_current(request, who);
}

void lock_file::leave() noexcept {
  unlock(fd_.get(), all_bytes);
  slots_.clear();
  ticket_ = 0;
  watching_ = false;
  ring();
}

spi::renewal lock_file::look_after(const spi::owner_id& owner) const {
  if (was_removed()) return spi::renewal::lost;
  const auto written = exclusive_ ? read_exclusive_holder(fd_.get()) : read_slot(fd_.get(), slots_.front().first);
  if (!written) return spi::renewal::unknown;
  return written->owner == owner ? spi::renewal::renewed : spi::renewal::lost;
}

result<bool> lock_file::convert(spi::access to, const holder& who) {
  const bool exclusive = to == spi::access::exclusive;
  if (exclusive == exclusive_) return true;
  auto done = exclusive ? upgrade(who) : downgrade(who);
  if (done && *done) exclusive_ = exclusive;
  return done;
}

result<bool> lock_file::downgrade(const holder& who) {
  // Everything that can fail comes first; then the kernel changes the lock in one step.
  if (auto slot = take_reader_slot(); !slot) return slot.error();
  if (auto written = write_slots(who); !written) return written.error();
  if (const int error = try_lock(fd_.get(), reader_byte, lock_type::read); error != 0) return locking_failed(error);
  unlock(fd_.get(), permits_byte);
  leave_line_behind();
  ring();
  return true;
}

result<bool> lock_file::upgrade(const holder& who) {
  if (is_locked(fd_.get(), waiting_bytes)) return false;
  const int error = try_lock(fd_.get(), writer_bytes, lock_type::write);
  if (error == EAGAIN) return false;
  if (error != 0) return locking_failed(error);
  auto now = read_header(fd_.get());
  auto written = now ? write_header(fd_.get(), *now, who) : result<void>(now.error());
  if (!written) {
    try_lock(fd_.get(), reader_byte, lock_type::read);
    unlock(fd_.get(), permits_byte);
    return written.error();
  }
  for (const slot_run& run : slots_) unlock(fd_.get(), slot_bytes(run.first, run.count));
  slots_.clear();
  return true;
}

result<void> lock_file::raise(std::uint64_t floor) {
  auto guard = lock_guard(guarding::tries);
  if (!guard) return guard.error();
  if (!*guard) return {errc::unavailable, "another process is changing the lock file"};
  auto now = read_header(fd_.get());
  result<void> outcome = now ? result<void>() : now.error();
  if (now && now->last_token < floor) {
    now->last_token = floor;
    outcome = write_header(fd_.get(), *now);
    if (outcome && ::fdatasync(fd_.get()) != 0) outcome = from_errno(errno, "writing the lock file to the disk");
  }
  unlock_guard();
  return outcome;
}

bool lock_file::was_removed() const noexcept {
  struct statx now{};
  // Not fstat: to ask for the times makes the kernel keep them to the nanosecond, and the next write twice as dear.
  if (::statx(fd_.get(), "", AT_EMPTY_PATH, STATX_NLINK, &now) != 0) return true;
  return now.stx_nlink == 0;
}

result<bool> lock_file::lock_guard(guarding how) const {
  int error = 0;
  if (how == guarding::waits) {
    error = wait_lock(fd_.get(), guard_byte, lock_type::write);
  } else {
    for (int i = 0; i != guard_attempts; ++i) {
      error = try_lock(fd_.get(), guard_byte, lock_type::write);
      if (error != EAGAIN) break;
      ::sched_yield();
    }
  }
  if (error == 0) return true;
  if (error == EAGAIN) return false;
  return locking_failed(error);
}

void lock_file::ring() noexcept {
  int ignored = 0;
  // After the release: whoever comes into line later than this look finds the lock free by himself.
  const auto waiting = find_lock(fd_.get(), waiting_bytes, ignored);
  others_waited_ = waiting.has_value();
  if (!waiting) return;
  if (waiting->start != watched_byte.start && !is_locked(fd_.get(), watched_byte)) return;
  // A change of both times is IN_ATTRIB, which nothing else here causes: writes to the record wake nobody.
  ::futimens(fd_.get(), nullptr);
}

void lock_file::leave_line_behind() noexcept {
  if (ticket_ == 0) return;
  unlock(fd_.get(), waiting_bytes);
  ticket_ = 0;
  watching_ = false;
}

result<bool> lock_file::draw(const holder& who, guarding how) {
  auto guard = lock_guard(how);
  if (!guard || !*guard) return guard;
  auto drawn = draw_ticket(fd_.get());
  int error = 0;
  // Under the guard: who draws the next one must find this one locked.
  if (drawn) error = try_lock(fd_.get(), ticket_byte(*drawn), lock_type::write);
  unlock_guard();
  if (!drawn) return drawn.error();
  if (error != 0) return locking_failed(error);
  ticket_ = *drawn;
  if (auto written = write_waiter(fd_.get(), ticket_, who); !written) return written.error();
  return true;
}

}  // namespace holdfast::file
