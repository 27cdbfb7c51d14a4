#pragma once

#include <holdfast/backend.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace holdfast::etcd {

/// One claim of ours as the server knows it: in line, or held. What is not behind the ledger's lock is touched by one
/// request at a time: those of a claim come one after the other.
struct ticket {
  explicit ticket(spi::claim of) : claim(std::move(of)) {}

  const spi::claim claim;
  unsigned visit = 0;      ///< How often the same claim was left before, without an answer.
  std::int64_t lease = 0;  ///< Written behind the ledger's lock.
  enum class tenure : std::uint8_t { session, own };
  tenure lease_is = tenure::session;

  /// The one whose creation is our place in line. Of a shared_mutex that of a reader. Written behind the lock.
  std::string key;
  std::int64_t revision = 0;  ///< When it was created; 0: not known to be there. Written behind the lock.
  std::string value;          ///< As it was first written; with our id in it.
  /// shared_mutex: that of a writer. Permits: the place in line. Written behind the lock.
  std::string second_key;
  std::atomic<std::int64_t> writer_revision{0};  ///< Of second_key; 0: there is none. Written behind the lock.
  std::int64_t given_up = 0;        ///< The writer's key that a downgrade is to remove: when it was created.
  std::vector<std::string> ghosts;  ///< Writers' keys of upgrades that were not answered: they may come yet.
  std::int64_t idle_floor = 0;      ///< Of the token key, if it says nothing any more and may go.
  /// A request to create it went unanswered: it may be carried out at any time, even after we left.
  bool may_come_late = false;
  std::atomic<bool> tried_to_leave = false;  ///< and the server did not answer.
  std::atomic<bool> leaves_later = false;    ///< It is tried again by itself.

  // Behind the ledger's lock.
  enum class state : std::uint8_t { asking, queued, held };
  state now = state::asking;
  std::string awaited;       ///< The key that must go first.
  std::int64_t seen_at = 0;  ///< When its own keys were there last.
  bool woken = false;        ///< There was news since the last look.
  bool ended = false;        ///< What was awaited went since the last look.
  spi::completion<spi::wake> waker;
};

/// All tickets of a client.
///
/// Thread safety: safe. Calls nobody with its lock held.
class ledger {
 public:
  using page = std::shared_ptr<ticket>;

  page open(const spi::claim& claim);  ///< Finds it, or makes it.
  page find(const spi::owner_id& id) const;
  /// Ends it, and its watch.
  void close(const page& t);
  bool empty() const;

  /// A key nobody else here uses: the first that `make` makes of 0, 1, 2, ...
  void choose_key(const page& t, const std::function<std::string(unsigned)>& make);

  /// Its key was created then; 0: it is not there.
  void place(const page& t, std::int64_t revision);
  /// The same of a writer's.
  void place_writer(const page& t, const std::string& key, std::int64_t revision);
  struct position {
    std::string key;
    std::int64_t revision = 0;
    std::string writer_key;
    std::int64_t writer_revision = 0;  ///< 0: there is none.
    std::int64_t seen_at = 0;          ///< They were there at this revision.
  };
  position position_of(const page& t) const;
  void assign(const page& t, std::int64_t lease, ticket::tenure how);

  /// In line behind `awaited`, and its keys there, at that revision; what was awaited before.
  std::string queue(const page& t, std::string awaited, std::int64_t seen_at);
  std::string hold(const page& t, std::int64_t seen_at);
  ticket::state state_of(const page& t) const;
  std::string awaited_by(const page& t) const;

  /// The next news completes `waker`; news that came since the last look do it at once.
  void watch(const page& t, spi::completion<spi::wake> waker);
  bool look(const page& t);         ///< What follows is news. True: what was awaited is gone.
  void wake_by_end(const page& t);  ///< What was awaited is gone.
  void wake(const page& t);
  void wake_all();

  std::vector<page> with_lease(std::int64_t lease) const;
  std::vector<page> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<spi::owner_id, page> open_;
  std::set<std::string> keys_;
};

}  // namespace holdfast::etcd
