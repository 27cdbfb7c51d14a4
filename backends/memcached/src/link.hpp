#pragma once

#include "greeting.hpp"
#include "reply.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memcached {

/// One command, of the meta commands or the older ones.
struct command {
  std::string line;                                ///< Without its end.
  std::optional<std::string> data = std::nullopt;  ///< What is to be stored.
  /// Only for this life of the server, in which the version it names was heard of; 0: for any. In another one it is
  /// not sent, and answered EX: numbers of versions come again there, and would fit what is not ours.
  std::uint64_t era = 0;
  enum class marking : std::uint8_t { opaque, none } mark = marking::opaque;  ///< none: an older command.
};

/// The connection to one server: commands of all threads, one behind the other, answered in that order, and marked so
/// that an answer out of order is found out.
///
/// Whoever asks sends; the reactor reads. A command that finds the connection gone waits for the next one; one that was
/// sent when it broke fails, as nobody knows what became of it.
///
/// Thread safety: safe. Answers come with nothing locked.
class link : public std::enable_shared_from_this<link> {
 public:
  using answer = detail::unique_function<void(result<reply>)>;

  link(address where, settings as, spi::runtime& engine);
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link();

  result<void> open(std::chrono::nanoseconds limit);  ///< Blocks at most so long.

  /// A reply that is no error, or a failure, by `deadline`.
  void ask(command what, spi::time_point deadline, answer told);

  const address& where() const noexcept { return where_; }

 private:
  struct request {
    command what;
    answer told;
    spi::time_point deadline;
    std::uint64_t mark = 0;      // none
    spi::time_point patience{};  // sent: until then an answer may come, also if nobody waits for it any more
  };
  struct wire {
    descriptor fd;
    std::uint64_t era = 0;
    reply_reader reader;  // the reactor's
  };
  struct told_reply {
    answer told;
    result<reply> said;
    bool in_step = true;  // what follows is the answer to the next
  };
  using guard = std::unique_lock<std::mutex>;

  void take(greeting& made);                       // with mutex_ held
  std::optional<told_reply> enqueue(request one);  // with mutex_ held
  void flush();                                    // with mutex_ held
  void read_ready(const std::shared_ptr<wire>& from);
  void take_in(const std::shared_ptr<wire>& from, std::string_view bytes, guard& lock);
  bool match(reply said, const std::shared_ptr<wire>& from, std::deque<told_reply>& into);  // with mutex_ held
  void hang_up(const failure& why, guard& lock);
  void reconnect();  // with mutex_ held
  void dial();
  void greet(const std::vector<endpoint>& to);
  void go_on(const std::shared_ptr<greeting>& under_way, unsigned steps);
  void dialled(greeting& made);
  void not_dialled(const failure& why);
  void guard_deadlines();                      // with mutex_ held
  void guard_deadline(spi::time_point first);  // with mutex_ held
  void on_deadline();
  void give_up_sent(guard& lock);
  void give_up_waiting(guard& lock, const failure* because);
  static void tell(std::deque<told_reply> all, guard& lock);

  const address where_;
  const settings as_;
  spi::runtime& engine_;

  std::mutex mutex_;
  std::shared_ptr<wire> wire_;  // null: no connection
  std::string out_;             // not yet taken by the socket
  std::deque<request> sent_;
  std::deque<request> unsent_;
  std::uint64_t last_mark_ = 0;
  bool flush_owed_ = false;
  bool dialling_ = false;
  std::vector<endpoint> known_;  // what the address stood for when it was asked last
  std::optional<spi::runtime::timer> guard_timer_;
  spi::time_point guarded_until_{};
  unsigned failures_ = 0;
  failure last_failure_{errc::unavailable, ""};
};

}  // namespace holdfast::memcached
