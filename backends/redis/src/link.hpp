#pragma once

#include "descriptor.hpp"
#include "line.hpp"
#include "look_out.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::redis {

/// The connection for commands: those of all threads, one behind the other, answered in that order.
///
/// Whoever may block reads the answers himself while he waits, those of others too; the reactor does when nobody waits.
/// So a lone caller pays for one send and one recv, and no other thread wakes. What others say while somebody sends he
/// sends along. A request that finds the connection gone waits for the next one; a request that was sent when it broke
/// fails, as nobody knows what became of it.
///
/// Thread safety: safe. Answers come with nothing locked.
class link : public std::enable_shared_from_this<link> {
 public:
  using answer = detail::unique_function<void(result<reply>)>;

  /// Told what the server says of itself, for every connection, before anything is sent on it.
  using on_introduced = std::function<void(std::string_view info, std::string_view fsync)>;

  /// What becomes of a request while the server cannot be reached.
  enum class when_down : std::uint8_t {
    wait,  ///< It waits for the next connection, as long as it may.
    fail,  ///< It fails at once: somebody else may serve it.
  };

  link(settings where, spi::runtime& engine, when_down absent = when_down::wait, on_introduced introduced = {});
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link();

  result<void> open();  ///< Blocks at most connect_timeout.

  /// Hangs up, unless the connection goes to `server` (host:port): what is asked from here on goes to a new one.
  void leave_for(const std::string& server);

  /// Sends `commands`, already encoded, `answers.size()` of them. Each answer is called once.
  void send(std::string commands, std::vector<answer> answers, spi::caller from);

 private:
  struct seat {              // somebody who blocks until his answers are there; on his stack
    std::size_t left = 0;    // answers he has not been told
    std::size_t unread = 0;  // those of them that nobody has read
    bool waiting = false;    // in seats_
    bool drives = false;     // why it was woken: to read, or because all is answered
    std::list<seat*>::iterator at;
    std::thread::id whose = std::this_thread::get_id();
    std::binary_semaphore woken{0};
  };
  struct request {
    answer told;
    seat* who = nullptr;
    spi::time_point deadline;
  };
  struct parcel {  // not sent: there is no connection
    std::string bytes;
    std::vector<request> requests;
  };
  struct wire {
    line over;            // its socket: whoever drives; the rest with mutex_ held
    reply_reader reader;  // whoever drives
  };
  struct told_reply {
    request asked;
    result<reply> said;
  };
  enum class driver : std::uint8_t { none, caller, reactor };
  using guard = std::unique_lock<std::mutex>;

  bool has_gate();       // with mutex_ held; a machine out of descriptors has none
  void take(line made);  // with mutex_ held
  void enqueue(std::string commands, std::vector<request> requests);  // with mutex_ held
  void enqueue_unsent(parcel what);                                   // with mutex_ held
  void flush(guard& lock) noexcept;
  void send_all(guard& lock);
  void flush_soon(spi::time_point when);  // with mutex_ held
  void sit_down(seat& mine);              // with mutex_ held
  void wait(seat& mine, guard& lock);
  void drive(seat& mine, guard& lock);
  void appoint(seat& next);  // with mutex_ held
  void hand_over();          // with mutex_ held
  void read_ready();
  void take_in(const std::shared_ptr<wire>& from, std::string_view bytes, guard& lock);
  void tell(std::vector<told_reply> all, guard& lock);

  bool stale();   // with mutex_ held
  void arm();     // with mutex_ held
  void disarm();  // with mutex_ held
  void guard_deadline();
  void on_deadline();
  void hang_up(const failure& why, guard& lock);
  void reconnect();  // with mutex_ held
  void dial_again();
  void give_up_waiting(guard& lock, const failure* because);

  const settings where_;
  spi::runtime& engine_;
  const on_introduced introduced_;
  const when_down absent_;
  const std::chrono::nanoseconds patience_;

  std::mutex mutex_;
  std::shared_ptr<wire> wire_;  // null: no connection
  std::string out_;             // not yet taken by the socket
  std::deque<request> sent_;
  std::deque<parcel> unsent_;
  std::list<seat*> seats_;  // who blocks and does not read
  driver driver_ = driver::none;
  std::thread::id driving_;
  look_out look_out_;  // whoever drives
  spi::time_point last_use_;
  descriptor gate_;       // an epoll set with the socket in it while the reactor is to read
  bool watched_ = false;  // the reactor knows the gate
  bool armed_ = false;
  bool deadline_guarded_ = false;
  bool sending_ = false;  // somebody is at it
  bool flush_owed_ = false;
  bool dialling_ = false;
  std::string moved_to_;  // said while dialling
  unsigned failures_ = 0;
  failure last_failure_{errc::unavailable, ""};
};

}  // namespace holdfast::redis
