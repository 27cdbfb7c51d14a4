#pragma once

#include "connection.hpp"
#include "descriptor.hpp"
#include "dial.hpp"
#include "settings.hpp"
#include "ways.hpp"

#include <holdfast/backend.hpp>

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::mysql {

/// A connection for statements. What comes while an exchange is under way goes out together with the next, as one text,
/// each statement still a transaction of its own, and is answered in that order. The server does nothing that stands
/// behind one that it refused: that is sent again.
///
/// Whoever may block reads the answers himself while he waits, those of others too; the reactor does when nobody waits.
/// A request that finds the connection gone waits for the next one; a request that was sent when it broke fails, as
/// nobody knows what became of it.
///
/// Thread safety: safe. Answers come with nothing locked.
class link final : public sql::asking, public std::enable_shared_from_this<link> {
 public:
  link(settings where, spi::runtime& engine);
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link() override;

  /// Uses a connection that somebody else has made.
  result<void> take_over(connection made);

  void ask(const sql::statement& what, sql::arguments with, spi::caller from, answer told) override;

 private:
  struct seat {            // somebody who blocks until his answer is there; on his stack
    bool unread = true;    // nobody has read it yet
    bool told = false;     // he has been told
    bool waiting = false;  // in seats_
    bool drives = false;   // why it was woken: to read, or because it is answered
    std::list<seat*>::iterator at;
    std::thread::id whose = std::this_thread::get_id();
    std::binary_semaphore woken{0};
  };
  struct request {
    std::string text;
    answer told;
    seat* who = nullptr;
    spi::time_point deadline;
    bool calls = false;  // it is over with a status, behind its rows
    unsigned tries = 0;
    sql::rows got;
  };
  struct wire {
    connection over;  // with mutex_ held; its socket is waited for without
  };
  struct told_answer {
    request asked;
    result<sql::rows> said;
  };
  enum class driver : std::uint8_t { none, caller, reactor };
  using guard = std::unique_lock<std::mutex>;

  // All with mutex_ held.
  result<void> take(connection made);
  void submit(request r, guard& lock);
  void send_waiting();
  void sit_down(seat& mine);
  void wait(seat& mine, guard& lock);
  void drive(seat& mine, guard& lock);
  void appoint(seat& next);
  void hand_over();
  void read_ready();
  void take_in(const std::shared_ptr<wire>& from, short ready, guard& lock);
  bool collect(short ready, std::vector<told_answer>& all);
  bool accept(reply one, std::vector<told_answer>& all);
  void answer_first(result<sql::rows> said, std::vector<told_answer>& all);
  void send_again();
  void tell(std::vector<told_answer> all, guard& lock);
  bool stale();
  void arm();
  void disarm();
  void guard_deadline();
  void on_deadline();
  void hang_up(const failure& why, guard& lock);
  void reconnect();
  void dial_again();
  void give_up_waiting(guard& lock, const failure* because);

  const settings where_;
  spi::runtime& engine_;
  const std::chrono::nanoseconds patience_;

  std::mutex mutex_;
  std::shared_ptr<wire> wire_;  // null: no connection
  std::deque<request> sent_;    // the exchange under way; its first is answered next
  std::deque<request> unsent_;
  std::list<seat*> seats_;  // who blocks and does not read
  driver driver_ = driver::none;
  std::thread::id driving_;
  spi::time_point last_use_;
  sql::descriptor gate_;  // an epoll set with the socket in it while the reactor is to read
  bool watched_ = false;  // the reactor knows the gate
  short armed_ = 0;       // for what of the socket
  bool deadline_guarded_ = false;
  bool dialling_ = false;
  unsigned failures_ = 0;
  failure last_failure_{errc::unavailable, ""};
};

}  // namespace holdfast::mysql
