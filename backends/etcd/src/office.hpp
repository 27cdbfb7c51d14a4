#pragma once

#include "keys.hpp"
#include "leases.hpp"
#include "ledger.hpp"
#include "lookout.hpp"
#include "script.hpp"
#include "settings.hpp"

#include <list>

namespace holdfast::etcd {

/// What one entry needs on its way through several exchanges.
struct asking {
  ledger::page t;
  spi::entry_request request;
  spi::completion<spi::entry_result> done;
  spi::time_point sent;            ///< Just before the last question.
  std::int64_t seen_at = 0;        ///< The revision of the last listing.
  std::uint64_t floor = 0;         ///< What the token key said.
  std::int64_t floor_mod = 0;      ///< When it was last written; 0: it is not there.
  bool others_looked_for = false;  ///< The line was listed whole: what is in it belongs to longer names.
  unsigned tries = 0;
};
using job = std::shared_ptr<asking>;

/// A release on its way.
struct departing {
  ledger::page t;
  spi::completion<bool> done;
  spi::time_point asked;
};
using departure = std::shared_ptr<departing>;

/// What the desks of one client share: the way to the server, and what is under way.
///
/// Thread safety: safe.
class office {
 public:
  office(const settings& what, spi::runtime& runtime);
  office(const office&) = delete;
  office& operator=(const office&) = delete;

  /// Ends the session and everything that is under way. Requires: no call is, and none comes.
  void shut_down();

  const settings where;
  spi::runtime& engine;
  const keys names;
  wire through;
  const std::shared_ptr<watches> events;
  const std::shared_ptr<lookout> eyes;
  const std::shared_ptr<heartbeat> pulse;
  const std::shared_ptr<leases> terms;
  ledger tickets;

  void txn(const script& what, spi::caller from, spi::completion<etcdserverpb::TxnResponse> done) {
    through.ask(methods::txn, what.request, from, std::move(done));
  }
  void list(etcdserverpb::RangeRequest what, spi::caller from, spi::completion<etcdserverpb::RangeResponse> done) {
    through.ask(methods::range, std::move(what), from, std::move(done));
  }

  /// Sees to it that the ticket has a lease that lives, then goes on.
  void with_lease(const job& j, std::function<void()> next);
  /// A put failed because its lease is gone: with another, once more.
  bool again_with_new_lease(const job& j, const failure& why);

  /// In line behind `awaited`, as of the job's listing.
  void wait_behind(const job& j, const std::string& awaited, lookout::scope which = lookout::scope::key_deleted);
  /// It is ours: counts its time, and keeps an eye on its key.
  void settle(const job& j, fencing_token first, std::uint32_t tokens);
  /// Ends the ticket with an answer. Nothing of it is at the server.
  void refuse(const job& j, failure why);
  void give_up(const job& j);

  /// Keeps an eye on its key, and on a writer's.
  void guard(const ledger::page& t);

  /// Nothing of it is at the server any more.
  void close(const ledger::page& t);
  /// It was left, and that was not answered: whatever of it is at the server goes, now or later. Its claim begins anew
  /// on another page, with other keys, which that release is no danger to.
  ledger::page begin_anew(const ledger::page& t);
  /// Begins a release.
  departure depart(const ledger::page& t, spi::completion<bool> done) const;
  /// A release was not answered. As long as the caller may wait, `again` sends it to the next member; after that every
  /// now and then, until somebody answers.
  void unanswered(const departure& d, const failure& why, std::function<void()> again);
  /// A key that may be written after it was deleted, by a request that was never answered.
  void haunt(const std::string& key, const std::string& value);
  /// As long as the client lives, such a request may be carried out: `again` undoes it every now and then.
  void haunt(std::function<void()> again);
  /// When such a request is not carried out any more.
  void after_haunting(std::function<void()> then);

  /// The refusal of a name that is in other use.
  static failure other_kind(const std::string& name, spi::kind wanted, spi::kind present);

 private:
  struct ghost {
    std::function<void()> lay;
    spi::time_point next;
    std::chrono::nanoseconds pause;
  };

  void on_news(const std::string& key, const spi::owner_id& who, lookout::news what);
  void on_lost_lease(leases::id lease);
  void verify(const ledger::page& t);
  void refresh(const job& j, fencing_token first, std::uint32_t tokens);
  void watch_guarded();
  void watch_guarded(const ledger::page& t, const std::string& key, std::int64_t since);
  void close_later(const ledger::page& t, std::function<void()> again);
  void lay_ghosts();
  std::chrono::nanoseconds haunted_for() const;

  std::mutex mutex_;
  std::vector<std::weak_ptr<ticket>> unguarded_;  // held or in line, and their own key is not watched yet
  std::list<ghost> ghosts_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // timers outlive nothing of ours but their own call
};

}  // namespace holdfast::etcd
