#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

/// What a child of a lock's node says it is, by its name.
enum class family : std::uint8_t {
  lock,        ///< `lock-`: Curator's InterProcessMutex, go-zookeeper.
  read_write,  ///< `__READ__`, `__WRIT__`: Curator's InterProcessReadWriteLock.
  lease,       ///< `lease-`: a lease of Curator's InterProcessSemaphoreV2.
  latch,       ///< `latch-`: Curator's LeaderLatch.
  kazoo,       ///< `__lock__`, `__rlock__`: kazoo.
  recipe,      ///< `x-SESSION-`: the recipe that comes with ZooKeeper.
};
const char* to_string(family f) noexcept;

/// One node in a line.
struct contender {
  std::string name;
  family kind = family::lock;
  spi::access access = spi::access::exclusive;
  std::int64_t sequence = 0;

  /// Nothing: it is no contender's name.
  static std::optional<contender> parse(std::string_view child);
};

/// `_c_<uuid>-`: what Curator puts before the name of a node that must be found again after a lost answer.
std::string protection(const spi::owner_id& id);
/// The id in such a name; nothing if there is none, or it is not a UUID.
std::optional<spi::owner_id> owner_in(std::string_view node);

/// What the children of a lock's node mean for one of them.
struct verdict {
  enum class is : std::uint8_t {
    holding,
    waiting,   ///< For `who` to go.
    missing,   ///< It is not among them.
    mixed,     ///< `who`, before it, is of another family, which would not exclude it.
    overflow,  ///< `who` has a sequence number after the last.
  };
  is what = is::missing;
  std::string who = {};
  bool next = false;  ///< `who` is the first in line, and holds.
  /// Sequence numbers are running out.
  bool nearly_overflown = false;
};
verdict judge(const std::vector<std::string>& children, std::string_view own);

/// Contenders of one family in the order of the line.
std::vector<contender> line_of(const std::vector<std::string>& children, family f);
/// How many of them, from the first, hold the lock: one, or all readers before the first writer.
std::size_t holding(const std::vector<contender>& line);

}  // namespace holdfast::zookeeper
