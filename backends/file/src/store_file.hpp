#pragma once

#include <holdfast/result.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::file {

/// The file beside the locks that says which store this is and which boots of which machines have used it.
inline constexpr const char* store_file_name = ".holdfast";

/// The boot of this machine, as /proc spells it. All zero without /proc: then boots look alike, and only a crash of the
/// machine can make a token come twice.
using boot_id = std::array<char, 36>;
boot_id this_boot();

struct store_state {
  std::string id;
  std::uint32_t boots = 0;  ///< How many, this one included.
};

/// Reads it; enters `boot` if it is new, safe on disk before it returns. Also finds out whether the
/// file system has the locks we need: errc::unsupported if not. errc::unavailable if somebody else is at it for longer
/// than `timeout`.
result<store_state> read_or_update_store_file(int fd, int directory_fd, const boot_id& boot,
                                              std::chrono::nanoseconds timeout);

}  // namespace holdfast::file
