#pragma once

#include <holdfast/backend.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

namespace holdfast::zookeeper {

/// How long a session lasts at least: from what we know that the leader knows of it.
///
/// The leader alone ends sessions. It hears of ours when we connect; after that from the server we are connected to,
/// which answers each of the leader's pings (one every half tick) with the sessions that have asked for something
/// since. What a server answers by itself (a read) proves nothing: it may be cut off from the leader. A write that was
/// committed proves that it is not, but does not itself move the session's time: the leader may have heard last what
/// came before the ping before it. And a leader that stood still has pinged nobody, and commits what it finds before
/// it ends the sessions whose time is over.
///
/// So an answer counts once there was a committed write after it, and after the answer to that another one, which was
/// sent three eighths of the timeout after the answer that counts: a ping has gone between them if a timeout is at
/// least two ticks (one and a half would do), and the leader has looked at its sessions. If a write took long, what was
/// answered since the one before does not count: the leader may have stood still.
///
/// Thread safety: safe.
class tenure {
 public:
  using duration = std::chrono::nanoseconds;
  using shared_end = std::shared_ptr<const std::atomic<spi::time_point::duration>>;

  /// Another session, which is asked for after `now`. What the one before gave stays as it was.
  void begin(spi::time_point now);
  /// There is no connection at `now`, and none has been asked for, as it seems: one that was asked for just now may not
  /// show yet. So what counts is the look before.
  void apart(spi::time_point now);
  /// They may have been of another connection than the one that is told of next.
  void forget_apart();
  /// The leader has let us connect, for a session of that timeout.
  void connected(duration timeout);
  /// A request sent then was answered at `now`, by the server we are connected to.
  void heard(spi::time_point sent, spi::time_point now);
  /// The same, and a quorum has agreed to it.
  void committed(spi::time_point sent, spi::time_point now);

  duration timeout() const;
  /// A little before the leader may end the session: for clocks that run at different speeds, and the time it takes to
  /// tell.
  spi::time_point end() const;
  shared_end ends() const;  ///< The same, kept up as long as this session lasts.

 private:
  struct answer {
    spi::time_point sent;
    spi::time_point at;
  };
  void note(spi::time_point sent, spi::time_point now);

  mutable std::mutex mutex_;  // guards what follows
  duration timeout_{0};
  std::deque<answer> answers_;  // over this connection, that do not count yet
  std::optional<answer> step_;  // the last write that was sent after the answer to the one before
  spi::time_point newest_;      // sent, of all answered
  spi::time_point known_;       // the leader has heard of us then or later, if it is the leader
  spi::time_point apart_;       // we were
  spi::time_point last_look_;   // after that
  std::shared_ptr<std::atomic<spi::time_point::duration>> end_ =
      std::make_shared<std::atomic<spi::time_point::duration>>();
};

}  // namespace holdfast::zookeeper
