#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::sql {

/// Our claims in line, and the watches on them. A wake that comes before the watch is kept for it.
///
/// Thread safety: safe. Watches end with nothing locked.
class tickets {
 public:
  /// Whether what is granted is given back by leaving, or is used up.
  enum class grant : std::uint8_t { lasts, passes };
  /// Called before the claim may be put in line: from here on nothing that is said of it is missed.
  void open(const spi::owner_id& id, grant what = grant::lasts);
  /// The claim was granted by an answer: it is not in line any more. It may be told of the same grant yet.
  void settle(const spi::owner_id& id);
  /// The claim is over, or given up.
  void close(const spi::owner_id& id);

  /// Ends at once if the claim is not in line or was woken already.
  void watch(const spi::owner_id& id, spi::completion<spi::wake> done);
  /// A grant ends the wait: the claim is not in line any more. False: nobody here waits for it or has it.
  bool wake(const spi::owner_id& id, spi::wake why);
  /// Nothing will be told of the claim: its watch ends with `why`, which refusal() then has for its next look.
  void fail(const spi::owner_id& id, const failure& why);
  std::optional<failure> refusal(const spi::owner_id& id) const;
  void wake_all();

 private:
  struct ticket {
    grant what = grant::lasts;
    std::optional<spi::wake> woken;
    std::optional<failure> refused;
    spi::completion<spi::wake> watch;
  };

  using place = std::map<spi::owner_id, ticket>::iterator;

  void move_in(place found);  // with mutex_ held

  mutable std::mutex mutex_;
  std::map<spi::owner_id, ticket> all_;
  std::set<spi::owner_id> inside_;  // were in line and have their grant
  // The same for what is used up and never left: forgotten after a while.
  std::deque<std::pair<std::chrono::steady_clock::time_point, spi::owner_id>> passed_;
};

}  // namespace holdfast::sql
