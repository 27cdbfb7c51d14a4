#pragma once

#include <holdfast/backend.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::file {

/// Which bytes of a lock file are locked for what. They are names for the kernel's lock table; what stands in the file
/// at these places does not matter (record.hpp), and most lie far behind its end.
///
/// | bytes        | read-locked by        | write-locked by                                          |
/// |--------------|-----------------------|----------------------------------------------------------|
/// | 0, 1, 2      |                       | the holder of a mutex                                    |
/// | 1, 2         |                       | the writer of a shared_mutex                             |
/// | 1            | readers of it         |                                                          |
/// | 2            | holders of permits    |                                                          |
/// | 16           |                       | whoever changes the record beside others, or draws a ticket |
/// | slot(i)      |                       | a reader, or one permit                                  |
/// | watched      | those that wait for the doorbell |                                               |
/// | ticket(t)    | who comes after t     | t, until it leaves (a reader or permit: until it is in)  |
///
/// So what is held, and as what kind, can be read off the kernel's table and is true even after a crash.
struct byte_range {
  off_t start = 0;
  off_t length = 0;  // 0: to the end of all files
};

inline constexpr byte_range mutex_bytes{0, 3};
inline constexpr byte_range writer_bytes{1, 2};
inline constexpr byte_range reader_byte{1, 1};
inline constexpr byte_range permits_byte{2, 1};
inline constexpr byte_range use_bytes{0, 3};
inline constexpr byte_range guard_byte{16, 1};
inline constexpr off_t first_slot = off_t{1} << 20;
inline constexpr byte_range watched_byte{off_t{1} << 40, 1};
inline constexpr off_t first_ticket = watched_byte.start + 16;
inline constexpr byte_range waiting_bytes{watched_byte.start, 0};
inline constexpr byte_range all_bytes{0, 0};

constexpr byte_range slot_bytes(std::uint32_t first, std::uint32_t count) noexcept {
  return {first_slot + off_t{first}, off_t{count}};
}
constexpr byte_range ticket_byte(std::uint64_t ticket) noexcept {
  return {first_ticket + static_cast<off_t>(ticket), 1};
}

enum class lock_type { read, write };

/// 0, EAGAIN when somebody else is in the way, or another errno.
int try_lock(int fd, byte_range what, lock_type type) noexcept;
/// Waits as long as it takes. 0 or an errno.
int wait_lock(int fd, byte_range what, lock_type type) noexcept;
/// Never blocks, never fails but for a descriptor that is none.
int unlock(int fd, byte_range what) noexcept;

struct found_lock {
  off_t start = 0;
  off_t end = 0;  // one behind; the largest off_t for "to the end"
  bool exclusive = false;
};
/// One lock of others on any of these bytes (not necessarily the first); nullopt: none. `error` gets 0 or an errno.
std::optional<found_lock> find_lock(int fd, byte_range where, int& error) noexcept;
/// Every lock of others on these bytes, by where it starts.
std::vector<found_lock> find_locks(int fd, byte_range where);
/// As find_lock, where a failed question counts as "nobody".
bool is_locked(int fd, byte_range where) noexcept;

/// The bytes a claim wants of use_bytes, and how.
byte_range use_of(const spi::claim& c) noexcept;
/// Does it want to be alone? Then its lock is a write lock.
bool wants_all(const spi::claim& c) noexcept;
/// What a lock on use_bytes says about the use of the name.
spi::kind kind_of(const found_lock& use) noexcept;

}  // namespace holdfast::file
