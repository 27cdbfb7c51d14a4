#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace holdfast::sqlite {

/// What one client tells another through its mailbox. A datagram is a number of these, as they lie in memory: sender
/// and receiver are on one machine. Messages are news, never the truth: that is in the database. One that is lost,
/// doubled or late does no harm, because it names the very ticket it is about.
struct message {
  enum class kind : std::uint32_t {
    granted = 0x48663101,  ///< The ticket was granted; the grant is in the message. The number is also the format.
    look_again,            ///< Something about the ticket may be new: enter again.
    evicted,               ///< The grant was taken away.
    next,                  ///< The ticket is first in line now, behind somebody who will not be long.
  };

  kind what = kind::look_again;
  std::uint32_t tokens = 0;
  spi::owner_id id;
  std::int64_t ticket = 0;
  std::uint64_t token = 0;
  std::int64_t expires = 0;  ///< Nanoseconds on the boot-time clock.
};
static_assert(std::is_trivially_copyable_v<message> && sizeof(message) == 48);

/// The messages of a datagram; none if it is not one of ours.
std::vector<message> parse(std::span<const std::byte> datagram);

}  // namespace holdfast::sqlite
