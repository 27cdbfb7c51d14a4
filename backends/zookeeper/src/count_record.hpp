#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::zookeeper {

/// What the node of a semaphore or latch holds: `semaphore 5 set`, and a line for each of the latest steps, so that one
/// sent again is not taken again.
struct count_record {
  struct step {
    spi::owner_id id;
    std::uint32_t taken = 0;  ///< Permits taken by an enter; 0: a step of apply().
    spi::count_reply reply;
  };

  spi::kind kind = spi::kind::semaphore;
  std::int64_t value = 0;
  bool set = false;
  std::deque<step> recent;

  /// Nothing: it is not one.
  static std::optional<count_record> read(std::string_view text);
  std::string text() const;

  /// Does it mean anything to anybody?
  bool in_use() const noexcept { return kind == spi::kind::semaphore ? set : value != 0; }
  step* recall(const spi::owner_id& id) noexcept;
  void remember(step what);
  result<spi::count_reply> apply(const spi::count_request& request);
};

}  // namespace holdfast::zookeeper
