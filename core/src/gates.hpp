#pragma once

#include "guarded.hpp"

#include <holdfast/lease_clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace holdfast::detail {

class acquisition;

/// The local queue of every name that somebody in this process holds or asks the store for.
///
/// One acquisition per name is inside (at the store, or holding); the others are parked here, in order, and cost the
/// store nothing. A gate exists only while somebody is inside. Where holds are shorter than it takes to wake a thread,
/// a few blocked callers look out for the lock instead of sleeping and pass it among themselves; the first in line is
/// passed over for a bounded time only. Thread safety: safe; nothing that locks or waits is called under its lock.
class gates {
 public:
  using waiter = std::shared_ptr<acquisition>;
  enum class arrival { inside, parked, refused };
  enum class patience { waits, does_not_wait };

  /// inside: the caller goes to the store. refused: somebody is inside and the caller does not wait.
  arrival arrive(const std::string& name, const waiter& who, patience p);
  /// Takes a parked one out. False: it is inside by now, or about to be told so.
  bool withdraw(const std::string& name, const acquisition* who);
  /// The one inside has gone: the first parked one is inside now, and is returned to be told. Null: nobody is.
  waiter depart(const std::string& name);
  /// Passes the inside on, at `now` after a hold of `held`, if `fits` says so: to one that looks out for it, or else,
  /// and always after a while, to the first. Null: nobody fits, nothing changed.
  waiter hand_over(const std::string& name, lease_clock::time_point now, std::chrono::nanoseconds held,
                   bool (*fits)(const acquisition&));
  /// Takes all parked ones out; the one inside stays.
  std::list<waiter> clear(const std::string& name);
  std::size_t parked(const std::string& name) const;
  /// How many tokens to ask the store for: one for each local handover to come. Twice as many each time all were used.
  std::uint32_t tokens_wanted(const std::string& name);
  /// The one inside has no token left to pass on.
  void used_up(const std::string& name);

 private:
  struct gate {
    std::list<waiter> queue;
    bool quick = false;                                  // the last hold was shorter than it takes to wake a thread
    std::optional<lease_clock::time_point> passed_over;  // since when others have gone before the first
    std::uint32_t tokens = 0;                            // asked for the last time
    bool used_up = false;                                // all of them were needed
  };
  using position = std::list<waiter>::iterator;

  static position looking_out(gate& g, bool (*fits)(const acquisition&));
  static waiter take(gate& g, position who);

  guarded<std::unordered_map<std::string, gate>> open_;
};

}  // namespace holdfast::detail
