#pragma once

#include "message.hpp"
#include "peers.hpp"

#include <holdfast/backend.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::sqlite {

/// The claims of this client that stand in line, and who wants to hear of them. What it does not know is not in the
/// database's queue: a ticket is noted here before the transaction that makes it is committed.
///
/// Thread safety: safe. Watches are completed with nothing locked.
class tickets {
 public:
  using neighbours = std::vector<std::shared_ptr<peer>>;

  std::optional<std::int64_t> number_of(const spi::owner_id& id) const;
  /// A claim stands in line. News that came for another number of the same claim are void.
  void note(const spi::owner_id& id, std::int64_t number);
  /// Those whose death makes the claim look again.
  void stand_behind(const spi::owner_id& id, neighbours ahead);
  /// It does not stand in line any more: granted, or left. A watch is told to look again.
  void strike(const spi::owner_id& id);
  /// It does not stand in line any more, and whoever strikes it tells: no watch is completed.
  void strike_silently(const spi::owner_id& id);

  /// Completes with news that came before, or when some come; at once for a claim that is not in line.
  void watch(const spi::owner_id& id, spi::completion<spi::wake> done);

  /// `now`: a grant that is over already is no grant.
  void deliver(const message& news, spi::time_point now);
  /// Its grant was taken away before it was told of it: whatever is still under way to it is void.
  void doubt(const spi::owner_id& id);
  void neighbour_died(session_id who);

 private:
  struct ticket {
    std::int64_t number = 0;
    std::optional<spi::wake> news;
    spi::completion<spi::wake> watch;
    neighbours ahead;
  };
  /// Tells the ticket; a watch to be completed outside the lock is moved to `watch`.
  static void tell(ticket& t, const spi::wake& what, spi::completion<spi::wake>& watch);

  mutable std::mutex mutex_;
  std::map<spi::owner_id, ticket> standing_;
};

}  // namespace holdfast::sqlite
