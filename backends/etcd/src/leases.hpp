#pragma once

#include "heartbeat.hpp"

#include <map>
#include <vector>

namespace holdfast::etcd {

/// The leases of a client: one for all that is renewed, kept alive as long as the client lives; and one for each
/// acquisition with a ttl of its own, which only its owner keeps alive.
///
/// Thread safety: safe.
class leases : public std::enable_shared_from_this<leases> {
 public:
  using id = std::int64_t;

  /// `lost`: it ended at the server; whoever relies on it must know.
  leases(wire& through, std::shared_ptr<heartbeat> pulse, std::function<void(id)> lost);

  struct allotment {
    id lease = 0;
    spi::caller from = spi::caller::must_not_block;  ///< Who waited for somebody else's question is on another thread.
  };
  /// The client's own; granted when it is first needed, and again after it was lost.
  void session(spi::caller from, spi::completion<allotment> done);
  /// One that lasts `ttl`, rounded up to what etcd can count. It is kept alive until let_run().
  void grant(std::chrono::nanoseconds ttl, spi::caller from, spi::completion<id> done);
  /// From now on only beat() keeps it alive.
  void let_run(id lease);

  /// Asks for another term; when it ends. errc::lost: there is none any more, and `lost` was told.
  void beat(id lease, spi::completion<spi::time_point> done);
  /// When the present term ends, counted from the last question that was answered.
  spi::time_point ends(id lease) const;

  /// Nobody has led the cluster since that answer but who gave it. If not, the new leader may know of an earlier end.
  bool confirmed(id lease) const;

  /// Somebody else was told that it is gone.
  void gone(id lease);
  /// Not needed any more: it is revoked, sooner or later.
  void drop(id lease);
  /// The client's own, which is not asked for any more. 0: there was none.
  id take_session();
  /// No more timers, no more beats.
  void stop();

 private:
  struct term {
    std::chrono::nanoseconds ttl{0};
    spi::time_point ends;
    std::uint64_t raft_term = 0;  // of the last answer
    bool kept = true;
  };

  void ask(std::chrono::nanoseconds ttl, spi::caller from, spi::completion<id> done);
  void on_session(spi::caller from, const result<id>& outcome);
  void schedule(id lease, std::chrono::nanoseconds in);
  void keep(id lease);

  wire& wire_;
  const std::shared_ptr<heartbeat> pulse_;
  const std::function<void(id)> lost_;
  mutable std::mutex mutex_;
  std::map<id, term> terms_;
  id session_ = 0;
  std::vector<spi::completion<allotment>> waiting_;  // for the session; the first has asked
  bool stopped_ = false;
};

}  // namespace holdfast::etcd
