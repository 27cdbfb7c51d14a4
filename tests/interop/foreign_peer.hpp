#pragma once

#include <holdfast/testing/holder_process.hpp>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing {

/// A program that locks with somebody else's library, in threads of its own: `THREAD COMMAND` goes in, `THREAD REPLY`
/// comes out.
///
/// Thread safety: one thread at a time.
class foreign_peer {
 public:
  /// Starts it and waits until it is connected.
  explicit foreign_peer(const std::vector<std::string>& command_line);

  void tell(const std::string& thread, std::string_view command);
  std::optional<std::string> reply_within(const std::string& thread, std::chrono::nanoseconds limit);
  void kill() { process_.kill(); }

 private:
  holder_process process_;
  std::map<std::string, std::deque<std::string>> replies_;  ///< Those that came while another thread's was waited for.
};

}  // namespace holdfast::testing
