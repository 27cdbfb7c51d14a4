#pragma once

#include "connection.hpp"
#include "descriptor.hpp"
#include "settings.hpp"
#include "ways.hpp"

#include <holdfast/backend.hpp>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::postgres {

/// A connection for statements: those of all threads, one behind the other (libpq's pipeline mode), each a transaction
/// of its own, answered in that order.
///
/// Whoever may block reads the answers himself while he waits, those of others too; the reactor does when nobody waits.
/// A request that finds the connection gone waits for the next one; a request that was sent when it broke fails, as
/// nobody knows what became of it.
///
/// Or, if it is made for one session: there is no next one. The reactor reads also when nothing is asked, so that its
/// end is heard of at once.
///
/// Thread safety: safe. Answers come with nothing locked.
class link final : public sql::asking, public std::enable_shared_from_this<link> {
 public:
  struct only_session {
    std::function<void(std::string_view)> told;  ///< What is notified on it.
    std::function<void(const failure&)> ended;   ///< Once, unless it was closed.
  };

  link(settings where, spi::runtime& engine);
  link(settings where, spi::runtime& engine, only_session tell);
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link() override;

  /// Uses a connection that somebody else has made.
  result<void> take_over(connection made);

  void ask(const sql::statement& what, sql::arguments with, spi::caller from, answer told) override;
  void ask_until(spi::time_point deadline, const sql::statement& what, sql::arguments with, spi::caller from,
                 answer told);

  /// Of the only session.
  void close() noexcept;

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
    const sql::statement* what = nullptr;
    sql::arguments with;
    answer told;
    seat* who = nullptr;
    spi::time_point deadline;
    bool prepares = false;
    sql::rows got;
    std::optional<failure> refused;
  };
  struct wire {
    connection over;  // with mutex_ held; its socket is waited for without
    std::set<std::string> prepared;
    std::string_view unfit;  // why it is not to be used any more
  };
  struct told_answer {
    request asked;
    result<sql::rows> said;
  };
  enum class driver : std::uint8_t { none, caller, reactor };
  using guard = std::unique_lock<std::mutex>;

  // All with mutex_ held.
  result<void> take(connection made);
  bool transmit(request& r);
  void submit(request r, guard& lock);
  void keep_for_later(request r);
  bool transmit_or_undo();
  void flush_soon();
  void sit_down(seat& mine);
  void wait(seat& mine, guard& lock);
  void drive(seat& mine, guard& lock);
  void appoint(seat& next);
  void hand_over();
  void read_ready();
  void take_in(const std::shared_ptr<wire>& from, guard& lock);
  bool collect(std::vector<told_answer>& all);
  void accept(rows next, std::vector<told_answer>& all);
  void learn(const request& asked, std::string_view state);
  void tell(std::vector<told_answer> all, guard& lock);
  bool stale();
  void arm();
  void disarm();
  void guard_deadline();
  void on_deadline();
  void hang_up(const failure& why, guard& lock);
  void pass_on(const std::shared_ptr<wire>& from, guard& lock);
  void reconnect();
  void dial_again();
  void give_up_waiting(guard& lock, const failure* because);

  const settings where_;
  spi::runtime& engine_;
  const std::chrono::nanoseconds patience_;
  const bool once_ = false;  // there is only one session

  std::mutex mutex_;
  std::shared_ptr<wire> wire_;  // null: no connection
  std::deque<request> sent_;
  std::deque<request> unsent_;
  std::list<seat*> seats_;  // who blocks and does not read
  driver driver_ = driver::none;
  std::thread::id driving_;
  spi::time_point last_use_;
  sql::descriptor gate_;  // an epoll set with the socket in it while the reactor is to read
  bool watched_ = false;  // the reactor knows the gate
  bool armed_ = false;
  bool deadline_guarded_ = false;
  bool flush_owed_ = false;
  bool dialling_ = false;
  unsigned failures_ = 0;
  failure last_failure_{errc::unavailable, ""};
  only_session tell_;
};

}  // namespace holdfast::postgres
