#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

/// A claim of ours as the desk knows it: where it stands, and the nodes it has.
///
/// Thread safety: none; the desk is locked.
struct seat {
  enum class stage : std::uint8_t {
    outside,  ///< On its way in.
    queued,
    held,
  };

  spi::claim claim;
  std::string path;  ///< The node of the name.
  std::string line;  ///< Where it queues: that node, or for permits the guard's below it.

  stage now = stage::outside;
  std::string node;                 ///< Its name in the line; empty: it has none that we know of.
  std::vector<std::string> leases;  ///< Permits: the paths of what it holds.
  std::string rising;               ///< Upgrading: the path of the writer's node it would have.
  bool uncertain = false;           ///< There may be nodes of it that we were not told of.
  bool watched = false;             ///< We hear when a node of it goes.
  std::uint64_t generation = 0;     ///< The session its nodes live in.
  std::uint64_t connection = 0;     ///< The connection over which the line was read.
  std::uint64_t attempt = 0;        ///< Answers to earlier ones are too late.
  spi::granted grant;

  std::string before;  ///< Queued: the path of what must go, or change, first.
  bool next = false;   ///< Queued: when that goes it is ours.
  bool kin = false;    ///< Queued: that is a node of our own session.
  bool woken = false;  ///< Something happened while nobody watched.
  spi::completion<spi::wake> watch;

  std::string own_path() const { return line + "/" + node; }
};

/// One way to the store and back, for an enter.
struct trip {
  std::shared_ptr<seat> who;
  std::uint64_t attempt = 0;
  bool queue = false;
  unsigned tries = 0;
  spi::completion<spi::entry_result> done;

  spi::time_point sent;
  bool creating = false;
  int created = 0;  ///< The code of that.

  /// The children of a node, or why they were not told.
  struct listing {
    int code = 0;
    std::vector<std::string> names;
  };
  listing line;
  listing above;   ///< Permits: those of the name's node. Others: who is in line for permits of the name.
  listing leases;  ///< The permits in use.
};

}  // namespace holdfast::zookeeper
