#pragma once

#include <holdfast/backend.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

namespace holdfast::zookeeper {

/// How long a session lasts at least: from what we know that the leader knows of it.
///
/// The leader alone ends sessions. It hears of ours when we connect; after that from the server we are connected to,
/// which answers each of the leader's pings (one every half tick) with the sessions that have asked for something
/// since. Two things follow. What a server answers by itself (a read) proves nothing: it may be cut off from the
/// leader. And a write that was committed proves that it is not, but does not itself move the session's time: the
/// leader may have heard last what came before the ping before it. So what counts is the newest question that was
/// answered a quarter of the timeout before a committed write was sent: a ping has gone between them, as a timeout is
/// at least two ticks.
///
/// Thread safety: safe.
class tenure {
 public:
  using duration = std::chrono::nanoseconds;
  using shared_end = std::shared_ptr<const std::atomic<spi::time_point::duration>>;

  /// Another session, which is asked for after `now`. What the one before gave stays as it was.
  void begin(spi::time_point now);
  /// There is no connection at `now`, and none has been asked for.
  void apart(spi::time_point now);
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
  std::deque<answer> answers_;  // over this connection
  spi::time_point newest_;      // sent, of all answered
  spi::time_point known_;       // the leader has heard of us then or later, if it is the leader
  spi::time_point apart_;
  std::shared_ptr<std::atomic<spi::time_point::duration>> end_ =
      std::make_shared<std::atomic<spi::time_point::duration>>();
};

}  // namespace holdfast::zookeeper
