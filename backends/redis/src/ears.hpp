#pragma once

#include "descriptor.hpp"
#include "hearing.hpp"
#include "line.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::redis {

/// The connection that listens: one subscription per channel, however many are interested. Made by the first interest,
/// and again, with every subscription, whenever it breaks. A thread that blocks until something is said to it reads
/// what is said to all; the reactor does when there is none.
///
/// Thread safety: safe. Everything is called with nothing locked, by the one who reads.
class ears final : public hearing, public std::enable_shared_from_this<ears> {
 public:
  ears(settings where, spi::runtime& engine, callbacks tell);
  ears(const ears&) = delete;
  ears& operator=(const ears&) = delete;
  ~ears() override;

  void listen(const subject& what, ready done) override;
  bool hears(const subject& what) const override;
  void ignore(const subject& what) override;
  bool wants(const subject& what) const;  ///< Is it heard, or to be heard?
  /// As ignore(), whoever has come to wait for it: they are told errc::unavailable.
  void drop(const subject& what);

  bool lend(spi::loan& mine) override;
  void end(spi::loan& mine) noexcept override;

  /// Hangs up, unless the connection goes to `server` (host:port), and subscribes anew. On the reactor thread only.
  void leave_for(const std::string& server) override;

 private:
  struct interest {
    bool confirmed = false;
    bool resumed = false;  // there was a connection before, and this one has not confirmed it yet
    std::vector<std::pair<spi::time_point, ready>> waiting;
  };
  using guard = std::unique_lock<std::mutex>;

  void connect();  // with mutex_ held
  void dial_now();
  void say(std::string_view verb, const subject& what);  // with mutex_ held
  void transmit(const std::string& bytes);               // with mutex_ held
  bool ready_to_read();                                  // with mutex_ held
  void arm();                                            // with mutex_ held
  void disarm();                                         // with mutex_ held
  void let_others_read();                                // with mutex_ held
  void read_ready();
  void read_for(spi::loan& mine, guard& lock);
  void read_some(const std::shared_ptr<line>& from, guard& lock);
  void read_and_tell(const std::shared_ptr<line>& from, guard& lock);
  void handle(const reply& r, guard& lock);
  void confirm(const subject& what, guard& lock);
  bool resumed();  // with mutex_ held; true once, when all that was heard before is heard again
  void refuse(const subject& what, const failure& why, guard& lock);
  bool on_sunsubscribe(std::string_view channel, guard& lock);
  void move_out(const subject& what, guard& lock);
  void hang_up(const std::string& why, guard& lock);
  void watch_over();  // with mutex_ held
  void on_beat(spi::time_point due);

  const settings where_;
  spi::runtime& engine_;
  const callbacks tell_;

  mutable std::mutex mutex_;
  std::shared_ptr<line> line_;  // null: no connection
  std::unique_ptr<reply_reader> reader_;
  descriptor gate_;       // an epoll set with the socket in it while the reactor is to read
  descriptor kick_;       // an eventfd that wakes the thread that reads
  bool watched_ = false;  // the reactor knows the gate
  bool armed_ = false;
  bool reactor_reads_ = false;   // at this moment
  spi::loan* driver_ = nullptr;  // whose thread reads
  std::thread::id driving_;
  std::list<spi::loan*> resting_;  // the others
  std::map<subject, interest> interests_;
  struct question {                 // what was sent and not yet answered
    std::optional<subject> what{};  // none: a beat
    bool leaves = false;            // ends a subscription
  };
  std::deque<question> asked_;
  bool dialling_ = false;
  std::string moved_to_;  // said while dialling
  bool again_ = false;    // there was a connection before
  std::optional<spi::time_point> next_beat_;
  spi::runtime::timer beat_timer_ = 0;
  std::optional<spi::time_point> pinged_;  // and not yet answered
  unsigned failures_ = 0;
};

}  // namespace holdfast::redis
