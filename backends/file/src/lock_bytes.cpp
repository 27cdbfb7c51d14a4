#include "lock_bytes.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace holdfast::file {

namespace {

short native(lock_type type) noexcept { return type == lock_type::read ? F_RDLCK : F_WRLCK; }

struct flock description(byte_range what, short type) noexcept {
  struct flock d{};  // l_pid must be 0 for open file description locks
  d.l_type = type;
  d.l_whence = SEEK_SET;
  d.l_start = what.start;
  d.l_len = what.length;
  return d;
}

int set(int fd, int command, byte_range what, short type) noexcept {
  auto d = description(what, type);
  for (;;) {
    if (::fcntl(fd, command, &d) == 0) return 0;
    if (errno == EACCES) return EAGAIN;  // what POSIX allows and some file servers say
    if (errno != EINTR) return errno;
  }
}

}  // namespace

int try_lock(int fd, byte_range what, lock_type type) noexcept { return set(fd, F_OFD_SETLK, what, native(type)); }

int wait_lock(int fd, byte_range what, lock_type type) noexcept { return set(fd, F_OFD_SETLKW, what, native(type)); }

int unlock(int fd, byte_range what) noexcept { return set(fd, F_OFD_SETLK, what, F_UNLCK); }

std::optional<found_lock> find_lock(int fd, byte_range where, int& error) noexcept {
  auto d = description(where, F_WRLCK);
  error = ::fcntl(fd, F_OFD_GETLK, &d) == 0 ? 0 : errno;
  if (error != 0 || d.l_type == F_UNLCK) return std::nullopt;
  const off_t end = d.l_len == 0 ? std::numeric_limits<off_t>::max() : d.l_start + d.l_len;
  return found_lock{d.l_start, end, d.l_type == F_WRLCK};
}

std::vector<found_lock> find_locks(int fd, byte_range where) {
  struct stretch {
    off_t start, end;
  };
  std::vector<found_lock> all;
  const off_t last = where.length == 0 ? std::numeric_limits<off_t>::max() : where.start + where.length;
  // The kernel names some lock in a stretch, not its first: what is left of it and right of it is asked for again.
  std::vector<stretch> open{{where.start, last}};
  while (!open.empty()) {
    const stretch here = open.back();
    open.pop_back();
    if (here.start >= here.end) continue;
    int error = 0;
    auto found = find_lock(fd, {here.start, here.end - here.start}, error);
    if (!found) continue;
    found->start = std::max(found->start, here.start);
    found->end = std::min(found->end, here.end);
    open.push_back({here.start, found->start});
    open.push_back({found->end, here.end});
    all.push_back(*found);
  }
  std::sort(all.begin(), all.end(), [](const found_lock& a, const found_lock& b) { return a.start < b.start; });
  return all;
}

bool is_locked(int fd, byte_range where) noexcept {
  int ignored = 0;
  return find_lock(fd, where, ignored).has_value();
}

bool wants_all(const spi::claim& c) noexcept {
  return c.kind == spi::kind::mutex || (c.kind == spi::kind::shared_mutex && c.access == spi::access::exclusive);
}

byte_range use_of(const spi::claim& c) noexcept {
  if (c.kind == spi::kind::mutex) return mutex_bytes;
  if (c.kind == spi::kind::permits) return permits_byte;
  return wants_all(c) ? writer_bytes : reader_byte;
}

spi::kind kind_of(const found_lock& use) noexcept {
  // Exclusive there: the writer of a shared_mutex in the middle of its downgrade.
  if (use.start == permits_byte.start && !use.exclusive) return spi::kind::permits;
  return use.start == mutex_bytes.start ? spi::kind::mutex : spi::kind::shared_mutex;
}

}  // namespace holdfast::file
