#include "store_file.hpp"

#include "errno_failure.hpp"
#include "lock_bytes.hpp"

#include <holdfast/backend.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

namespace holdfast::file {
namespace {

constexpr char magic[8] = {'h', 'o', 'l', 'd', 'd', 'i', 'r', '1'};
constexpr byte_range whole_file{0, 1};

struct stored {
  char magic[8];
  std::uint32_t boots;
  std::uint32_t spare;
  std::uint8_t id[16];
  // The latest boots, of all machines where the directory is on a network: enough that machines which take turns do
  // not count again each time.
  std::array<boot_id, 32> seen;
  std::uint64_t checksum;
};

std::uint64_t checksum(const stored& s) noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&s);
  std::uint64_t h = 0xcbf29ce484222325;
  for (std::size_t i = 0; i != offsetof(stored, checksum); ++i) h = (h ^ bytes[i]) * 0x100000001b3;
  return h;
}

enum class content { empty, ours, foreign };

content read(int fd, stored& out) {
  out = {};
  const auto got = ::pread(fd, &out, sizeof out, 0);
  // Zeros: the machine went down before the first boot was written. Nothing was locked yet.
  constexpr stored nothing{};
  if (got >= 0 && std::memcmp(&out, &nothing, sizeof out) == 0) return content::empty;
  if (got != sizeof out || std::memcmp(out.magic, magic, sizeof magic) != 0 || out.checksum != checksum(out)) {
    return content::foreign;
  }
  return content::ours;
}

bool knows(const stored& s, const boot_id& boot) {
  return std::find(s.seen.begin(), s.seen.end(), boot) != s.seen.end();
}

store_state summary(const stored& s) {
  spi::owner_id id;
  std::memcpy(id.bytes.data(), s.id, sizeof s.id);
  return {id.hex(), s.boots};
}

result<store_state> enter_boot(int fd, int directory_fd, const boot_id& boot) {
  stored now{};
  switch (read(fd, now)) {
    case content::foreign:
      return {errc::rejected, "damaged, or not a file of Holdfast"};
    case content::empty:
      std::memcpy(now.magic, magic, sizeof magic);
      std::memcpy(now.id, spi::owner_id::random().bytes.data(), sizeof now.id);
      break;
    case content::ours:
      if (knows(now, boot)) return summary(now);
      break;
  }
  now.seen[now.boots % now.seen.size()] = boot;
  ++now.boots;
  now.checksum = checksum(now);
  const auto written = ::pwrite(fd, &now, sizeof now, 0);
  if (written != sizeof now) {
    const int error = written < 0 ? errno : ENOSPC;
    // Half of it would be "damaged" to the next one.
    if (now.boots == 1 && ::ftruncate(fd, 0) != 0) return from_errno(errno, "undoing a failed write");
    return from_errno(error, "writing");
  }
  if (::fdatasync(fd) != 0 || ::fsync(directory_fd) != 0) return from_errno(errno, "writing to the disk");
  return summary(now);
}

}  // namespace

boot_id this_boot() {
  boot_id id{};
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return id;
  if (::read(fd, id.data(), id.size()) != static_cast<ssize_t>(id.size())) id = {};
  ::close(fd);
  return id;
}

result<store_state> read_or_update_store_file(int fd, int directory_fd, const boot_id& boot,
                                              std::chrono::nanoseconds timeout) {
  int error = 0;
  find_lock(fd, whole_file, error);
  if (error == 0) {
    stored now{};
    // Nearly always all there is to do: no lock for a connection.
    if (read(fd, now) == content::ours && knows(now, boot)) return summary(now);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while ((error = try_lock(fd, whole_file, lock_type::write)) == EAGAIN) {
      if (std::chrono::steady_clock::now() >= deadline) return {errc::unavailable, "another process has it locked"};
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (error == ENOLCK || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP) {
    return failure{errc::unsupported,
                   from_errno(error, "this file system or kernel has no open file description locks").detail};
  }
  if (error != 0) return from_errno(error, "locking");
  auto state = enter_boot(fd, directory_fd, boot);
  unlock(fd, whole_file);
  return state;
}

}  // namespace holdfast::file
