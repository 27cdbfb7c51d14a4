#include "record.hpp"

#include "errno_failure.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace holdfast::file {
namespace {

static_assert(std::endian::native == std::endian::little, "the record is copied as it lies in memory");

constexpr char magic[8] = {'h', 'o', 'l', 'd', 'f', 'a', 's', 't'};
constexpr std::uint32_t version = 1;

struct stored_header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t kind;
  std::uint64_t last_token;
  std::uint32_t limit;
  std::uint32_t name_length;
  char spare[32];
};
static_assert(sizeof(stored_header) == 64);

struct stored_holder {
  std::uint8_t owner[16];
  std::uint64_t token;
  std::int64_t pid;
  std::uint64_t process_start;
  std::int64_t since;  // nanoseconds of Unix time
  std::int64_t ttl;    // nanoseconds
  std::uint32_t access;
  std::uint32_t permits;
  char host[64];
  char client_name[128];
  char more[184];
  std::uint64_t checksum;  // of all before it: inspect reads without a lock
};
static_assert(sizeof(stored_holder) == 448);

struct first_sector {
  stored_header header;
  stored_holder holder;
};
static_assert(sizeof(first_sector) == ticket_offset);

result<void> write_at(int fd, const void* data, std::size_t size, off_t where) {
  ssize_t written = 0;
  do written = ::pwrite(fd, data, size, where);
  while (written < 0 && errno == EINTR);
  if (written < 0) return from_errno(errno, "writing the lock file");
  // Files are written short when the disk is full.
  if (static_cast<std::size_t>(written) != size) return from_errno(ENOSPC, "writing the lock file");
  return {};
}

/// How many bytes were there.
result<std::size_t> read_at(int fd, void* data, std::size_t size, off_t where) {
  ssize_t got = 0;
  do got = ::pread(fd, data, size, where);
  while (got < 0 && errno == EINTR);
  if (got < 0) return from_errno(errno, "reading the lock file");
  return static_cast<std::size_t>(got);
}

/// Cuts at a character's boundary.
template <std::size_t Size>
void put(char (&field)[Size], const std::string& text) {
  std::size_t length = std::min(text.size(), Size - 1);
  if (length < text.size()) {
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  }
  std::memcpy(field, text.data(), length);
}

template <std::size_t Size>
std::string get(const char (&field)[Size]) {
  return std::string(field, ::strnlen(field, Size));
}

/// FNV-1a by words: it tells a holder that is half written, nothing more.
std::uint64_t checksum(const stored_holder& who) noexcept {
  std::uint64_t words[offsetof(stored_holder, checksum) / sizeof(std::uint64_t)];
  std::memcpy(words, &who, sizeof words);
  std::uint64_t h = 0xcbf29ce484222325;
  for (const std::uint64_t word : words) h = (h ^ word) * 0x100000001b3;
  return h;
}

stored_header pack(const header& h) {
  stored_header out{};
  std::memcpy(out.magic, magic, sizeof magic);
  out.version = version;
  out.kind = static_cast<std::uint32_t>(h.kind);
  out.last_token = h.last_token;
  out.limit = h.limit;
  out.name_length = h.name_length;
  return out;
}

stored_holder pack(const holder& who) {
  stored_holder out{};
  std::memcpy(out.owner, who.owner.bytes.data(), sizeof out.owner);
  out.token = who.token.value();
  out.pid = who.pid;
  out.process_start = who.process_start;
  out.since = std::chrono::nanoseconds(who.since.time_since_epoch()).count();
  out.ttl = who.ttl.count();
  out.access = static_cast<std::uint32_t>(who.access);
  out.permits = who.permits;
  put(out.host, who.host);
  put(out.client_name, who.client_name);
  out.checksum = checksum(out);
  return out;
}

std::optional<holder> read_holder(int fd, off_t where) {
  stored_holder in{};
  const auto got = read_at(fd, &in, sizeof in, where);
  if (!got || *got != sizeof in || in.checksum != checksum(in)) return std::nullopt;
  holder who;
  std::memcpy(who.owner.bytes.data(), in.owner, sizeof in.owner);
  who.token = in.token;
  who.pid = in.pid;
  who.process_start = in.process_start;
  who.since = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(in.since)));
  who.ttl = std::chrono::nanoseconds(in.ttl);
  who.access =
      in.access == static_cast<std::uint32_t>(spi::access::shared) ? spi::access::shared : spi::access::exclusive;
  who.permits = in.permits;
  who.host = get(in.host);
  who.client_name = get(in.client_name);
  return who;
}

}  // namespace

result<header> read_header(int fd) {
  stored_header in{};
  const auto got = read_at(fd, &in, sizeof in, 0);
  if (!got) return got.error();
  constexpr stored_header empty{};
  if (std::memcmp(&in, &empty, sizeof in) == 0) return header{};
  if (*got != sizeof in || std::memcmp(in.magic, magic, sizeof magic) != 0 || in.name_length == 0 ||
      in.name_length > 512) {
    return {errc::rejected, "the file in its place is not a lock file of Holdfast"};
  }
  if (in.version != version) {
    return {errc::rejected, "its lock file has format " + std::to_string(in.version) + "; this Holdfast knows format " +
                                std::to_string(version)};
  }
  return header{static_cast<spi::kind>(in.kind), in.limit, in.last_token, in.name_length};
}

result<void> write_header(int fd, const header& h, const holder& exclusive) {
  const first_sector both{pack(h), pack(exclusive)};
  return write_at(fd, &both, sizeof both, 0);
}

result<void> write_header(int fd, const header& h) {
  const stored_header out = pack(h);
  return write_at(fd, &out, sizeof out, 0);
}

result<std::string> read_name(int fd, const header& h) {
  std::string name(h.name_length, '\0');
  const auto got = read_at(fd, name.data(), name.size(), name_offset);
  if (!got) return got.error();
  name.resize(*got);
  return name;
}

result<void> write_name(int fd, const std::string& name) { return write_at(fd, name.data(), name.size(), name_offset); }

result<void> write_slot(int fd, std::uint32_t slot, const holder& who) {
  const stored_holder out = pack(who);
  return write_at(fd, &out, sizeof out, slot_offset(slot));
}

result<void> write_waiter(int fd, std::uint64_t ticket, holder who) {
  who.token = ticket;
  const stored_holder out = pack(who);
  return write_at(fd, &out, sizeof out, waiter_offset(ticket));
}

std::optional<holder> read_exclusive_holder(int fd) { return read_holder(fd, sizeof(stored_header)); }

std::optional<holder> read_slot(int fd, std::uint32_t slot) { return read_holder(fd, slot_offset(slot)); }

std::optional<holder> read_waiter(int fd, std::uint64_t ticket) {
  auto who = read_holder(fd, waiter_offset(ticket));
  if (who && who->token.value() != ticket) who.reset();
  return who;
}

result<std::uint64_t> draw_ticket(int fd) {
  std::uint64_t ticket = 0;
  if (const auto got = read_at(fd, &ticket, sizeof ticket, ticket_offset); !got) return got.error();
  // Wraps long before lock offsets end, also where the file was damaged; 0 is none.
  ticket = 1 + ticket % (std::uint64_t{1} << 48);
  if (const auto written = write_at(fd, &ticket, sizeof ticket, ticket_offset); !written) return written.error();
  return ticket;
}

}  // namespace holdfast::file
