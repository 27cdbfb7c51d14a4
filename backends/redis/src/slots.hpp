#pragma once

#include "reply.hpp"

#include <holdfast/result.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis {

/// A Redis Cluster shares its keys out by slot; a script's keys must be in one.
using slot = std::uint16_t;
inline constexpr std::size_t slot_count = 16384;

/// What of a key decides its slot: what stands between the first `{` and the next `}`, or, without that or with nothing
/// between them, all of it.
std::string_view hashed_part(std::string_view key);
slot slot_of(std::string_view key);

/// A node of a cluster, as the cluster names it.
struct node_address {
  std::string host;
  std::string port;

  /// As redirections spell it: `host:port`, of IPv6 without brackets. No host means the one that was asked.
  static std::optional<node_address> from(std::string_view text, const node_address& asked);
  std::string shown() const;
  friend auto operator<=>(const node_address&, const node_address&) = default;
};

/// Where an error reply sends us.
struct redirection {
  enum class kind : std::uint8_t {
    moved,  ///< For good: the slot has another master.
    ask,    ///< This once: the slot is on its way there.
  };
  kind what = kind::moved;
  slot about = 0;
  node_address where;

  static std::optional<redirection> from(std::string_view error_reply, const node_address& asked);
};

/// Which master serves which slot.
///
/// Thread safety: as a value.
class slot_map {
 public:
  slot_map() { owners_.fill(nobody); }

  /// Of the reply to CLUSTER SLOTS. errc::unavailable: it is none.
  static result<slot_map> from(const reply& said, const node_address& asked);

  /// Null: nobody serves it.
  const node_address* master(slot s) const;
  const std::vector<node_address>& masters() const noexcept { return masters_; }
  void move(slot s, const node_address& to);
  /// The first range of slots that nobody serves.
  std::optional<std::pair<slot, slot>> gap() const;

 private:
  static constexpr std::uint16_t nobody = 0xffff;

  std::uint16_t index_of(const node_address& node);

  std::vector<node_address> masters_;
  std::array<std::uint16_t, slot_count> owners_{};
};

}  // namespace holdfast::redis
