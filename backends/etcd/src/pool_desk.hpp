#pragma once

#include "number_desk.hpp"
#include "office.hpp"
#include "record.hpp"

#include <deque>

namespace holdfast::etcd {

/// What there is a number of: permits of a permit_semaphore, each a key of its holder's; and those of a
/// counting_semaphore, which is a number. Who waits has a place in line; only the first in line takes, the others wait
/// for the one before them to go. And latches, where nobody stands in line.
///
/// Thread safety: safe.
class pool_desk {
 public:
  pool_desk(office& of, number_desk& numbers) : office_(of), numbers_(numbers) {}

  void enter(const job& j);
  void leave(const ledger::page& t, spi::caller from, spi::completion<bool> done);
  /// Of a claim without a ticket. A counting_semaphore's has none once it is granted; whoever leaves it after that did
  /// not want it any more (a wait that was given up at that moment), and the permits go back.
  void leave(const spi::claim& c, spi::caller from, spi::completion<bool> done);

 private:
  using listing = google::protobuf::RepeatedPtrField<mvccpb::KeyValue>;
  /// What is there, as of one revision.
  struct view {
    std::int64_t revision = 0;
    std::int64_t free = 0;
    std::int64_t number_mod = 0;  // counting_semaphore: of the number
    std::int64_t granted = 0;     // ours, already: when
    std::int64_t place = 0;       // ours in line: since when; 0: none
    std::string ahead;            // the last in line before us
    std::optional<failure> refusal;
  };

  void enter_latch(const job& j);
  void name_keys(const job& j);
  void try_at_once(const job& j);
  void look(const job& j);
  void stand_in_line(const job& j);
  void decide(const job& j, const view& v);
  void take(const job& j, const view& v);
  void settle(const job& j, std::int64_t revision);
  void check_line(const job& j, const listing& head, std::function<void()> next);
  view view_of(const ticket& t, const listing& all, std::int64_t revision) const;
  void count_in(view& v, const ticket& t, const keys::other_place& place, const mvccpb::KeyValue& kv) const;
  void on_failure(const job& j, const failure& why, void (pool_desk::*again)(const job&));
  void fail(const job& j, const failure& why);
  void see_to_late(const ledger::page& t);
  void give_back(const ledger::page& t, std::function<void()> then);
  void undo(const ledger::page& t, std::function<void()> then);
  void send_away(const departure& d, spi::caller from);
  void on_left(const departure& d, const etcdserverpb::TxnResponse& said);
  void close_taken(const ledger::page& t);
  void refuse(const job& j, const failure& why);
  key_range others(const ticket& t) const { return everything_below(office_.names.others(t.claim.name)); }
  key_range line(const ticket& t) const { return everything_below(office_.names.line(t.claim.name)); }

  office& office_;
  number_desk& numbers_;
  std::mutex mutex_;
  std::deque<spi::owner_id> taken_;  // of counting_semaphores, the last ones
};

}  // namespace holdfast::etcd
