#pragma once

#include <holdfast/backend.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::file {

/// What stands in a lock file. Little-endian, read and written whole by pread and pwrite (mmap would see stale pages on
/// a network file system).
///
/// | offset                         | what                                 | written under                |
/// |--------------------------------|--------------------------------------|------------------------------|
/// | 0                              | header: magic, version, kind, last token, limit, length of the name | (1) |
/// | 64                             | the exclusive holder                 | the exclusive lock           |
/// | 512                            | the last ticket drawn                | the guard                    |
/// | 1024                           | the name, once                       | (1)                          |
/// | 4096 + 512 * (ticket mod 2000) | who drew it and waits                | the ticket                   |
/// | 1 MiB + 512 * slot             | a reader, or one permit              | the slot                     |
///
/// (1) The exclusive lock, or a shared one and the guard.
///
/// A file that is empty or begins with zeros is new. Who holds is told by the kernel's lock table, not by the record,
/// which is not cleared on release.
inline constexpr off_t ticket_offset = 512;
inline constexpr off_t name_offset = 1024;
constexpr off_t waiter_offset(std::uint64_t ticket) noexcept { return 4096 + 512 * static_cast<off_t>(ticket % 2000); }
constexpr off_t slot_offset(std::uint32_t slot) noexcept { return (off_t{1} << 20) + off_t{512} * slot; }

struct header {
  spi::kind kind = spi::kind::mutex;
  std::uint32_t limit = 0;
  std::uint64_t last_token = 0;
  std::uint32_t name_length = 0;  // 0: the file is new
};

/// Who holds a lock or waits for it, as inspect shows it.
struct holder {
  spi::owner_id owner;
  fencing_token token;  // of a waiter: its ticket
  std::int64_t pid = 0;
  std::uint64_t process_start = 0;  // clock ticks after boot: tells a pid from the same one used again
  std::chrono::system_clock::time_point since;
  std::chrono::nanoseconds ttl{0};
  spi::access access = spi::access::exclusive;
  std::uint32_t permits = 1;
  std::string host;         // cut to 63 bytes
  std::string client_name;  // cut to 127 bytes
};

result<header> read_header(int fd);
/// Header and exclusive holder in one write: a process that is killed leaves both or neither.
result<void> write_header(int fd, const header& h, const holder& exclusive);
result<void> write_header(int fd, const header& h);

result<std::string> read_name(int fd, const header& h);
result<void> write_name(int fd, const std::string& name);

result<void> write_slot(int fd, std::uint32_t slot, const holder& who);
result<void> write_waiter(int fd, std::uint64_t ticket, holder who);
/// nullopt: never written, or just being written.
std::optional<holder> read_exclusive_holder(int fd);
std::optional<holder> read_slot(int fd, std::uint32_t slot);
/// nullopt also where another ticket's waiter has the place by now.
std::optional<holder> read_waiter(int fd, std::uint64_t ticket);

/// Requires: the guard.
result<std::uint64_t> draw_ticket(int fd);

}  // namespace holdfast::file
