#pragma once

#include "foreign_peer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::testing {

/// How one side spells a lock.
struct spelling {
  std::string acquire;  ///< Answered when it is held.
  std::string release;
};

/// One who wants a lock: a lock_holder of ours, or a thread of a foreign program.
///
/// Thread safety: one thread at a time.
class contender {
 public:
  contender(holder_process ours, spelling how);
  contender(std::shared_ptr<foreign_peer> theirs, std::string thread, spelling how);

  void tell(std::string_view command);
  std::optional<std::string> reply_within(std::chrono::nanoseconds limit);
  std::string ask(std::string_view command);
  std::string reply(std::chrono::nanoseconds limit = live_timeout);  ///< Throws std::runtime_error if there is none.

  void want() { tell(how_.acquire); }             ///< Begins to wait for it.
  std::string got() { return granted(reply()); }  ///< Waits until it is had: the token, or the permit's id, if told.
  std::string acquire();
  void begin_release() { tell(how_.release); }
  void end_release();
  void release();

  void kill();  ///< SIGKILL; with a foreign program, all its threads.

 private:
  struct thread {
    std::shared_ptr<foreign_peer> peer;
    std::string name;
  };
  static std::string granted(const std::string& reply);

  std::variant<holder_process, thread> who_;
  spelling how_;
};

}  // namespace holdfast::testing
