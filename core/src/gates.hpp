#pragma once

#include "guarded.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace holdfast::detail {

class acquisition;

/// The local queue of every name that somebody in this process holds or asks the store for.
///
/// One acquisition per name is inside (at the store, or holding); the others are parked here, in order, and cost the
/// store nothing. A gate exists only while somebody is inside. Thread safety: safe; nothing is called under its lock.
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
  /// Passes the inside on to the first parked one if `fits` says so. Null: it did not, nothing changed.
  template <class Fits>
  waiter hand_over(const std::string& name, Fits fits) {
    return open_.with([&](auto& open) -> waiter {
      const auto gate = open.find(name);
      if (gate == open.end() || gate->second.empty() || !fits(*gate->second.front())) return nullptr;
      auto next = std::move(gate->second.front());
      gate->second.pop_front();
      return next;
    });
  }
  /// Takes all parked ones out; the one inside stays.
  std::list<waiter> clear(const std::string& name);
  std::size_t parked(const std::string& name) const;

 private:
  guarded<std::unordered_map<std::string, std::list<waiter>>> open_;
};

}  // namespace holdfast::detail
