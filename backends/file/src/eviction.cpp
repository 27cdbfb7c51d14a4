#include "eviction.hpp"

#include "errno_failure.hpp"
#include "file_name.hpp"
#include "lock_bytes.hpp"
#include "record.hpp"
#include "store_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace holdfast::file {
namespace {

constexpr const char* new_file_name = ".evicting";
constexpr byte_range eviction_byte{1, 1};  // of the store's file; byte 0 is for its own content
constexpr std::chrono::seconds longest_wait{2};

// Somebody may draw tokens from the old file until the very moment it is replaced.
constexpr std::uint64_t token_gap = std::uint64_t{1} << 20;

/// One eviction at a time: each must start from the tokens of the one before.
result<descriptor> lock_evictions(const directory& where) {
  auto file = where.open_file(store_file_name, directory::use::locking);
  if (!file) return file;
  const auto deadline = std::chrono::steady_clock::now() + longest_wait;
  for (;;) {
    const int error = try_lock(file->get(), eviction_byte, lock_type::write);
    if (error == 0) return file;
    if (error != EAGAIN) return from_errno(error, "locking the store's file");
    if (std::chrono::steady_clock::now() >= deadline) return {errc::unavailable, "another process is evicting"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

result<bool> replace_lock_file(const directory& where, const std::string& name) {
  const auto evictions = lock_evictions(where);
  if (!evictions) return evictions.error();
  const auto old = where.open_file(to_file_name(name), directory::use::looking);
  if (!old) return old.error();
  // Once more, now that no other eviction can come in between: that one may have been enough.
  if (!is_locked(old->get(), use_bytes)) return false;
  auto now = read_header(old->get());
  if (!now) return now.error();
  now->name_length = static_cast<std::uint32_t>(name.size());
  now->last_token = std::max(now->last_token, where.token_floor()) + token_gap;
  const auto fresh = where.open_file(new_file_name, directory::use::locking);
  if (!fresh) return fresh.error();
  if (::ftruncate(fresh->get(), 0) != 0) return from_errno(errno, "emptying the new lock file");
  if (auto written = write_name(fresh->get(), name); !written) return written.error();
  if (auto written = write_header(fresh->get(), *now); !written) return written.error();
  if (auto replaced = where.replace(to_file_name(name), new_file_name); !replaced) return replaced.error();
  return true;
}

}  // namespace holdfast::file
