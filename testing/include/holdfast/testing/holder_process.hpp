#pragma once

#include <holdfast/testing/eventually.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing {

/// A lock_holder process: another process that locks as it is told, and can be killed and paused in the act.
///
/// ask() and tell() speak its little language; see lock_holder's `help`. Thread safety: one thread at a time.
class holder_process {
 public:
  using environment = std::map<std::string, std::string>;

  /// Starts it. `extra` is added to this process's environment.
  explicit holder_process(const environment& extra = {});
  /// Another program that replies to each line with a line: a foreign client, say.
  explicit holder_process(std::vector<std::string> command_line, const environment& extra = {});
  /// The same, connected to `url`.
  static holder_process connected(const std::string& url, std::chrono::milliseconds ttl = std::chrono::seconds(30),
                                  const environment& extra = {});
  holder_process(holder_process&& other) noexcept;
  holder_process& operator=(holder_process&&) = delete;
  ~holder_process();  ///< Kills it if it still runs.

  void tell(std::string_view command);  ///< Sends a command without waiting for the reply.
  /// The next reply. Throws std::runtime_error when there is none in time or the process has ended.
  std::string reply(std::chrono::nanoseconds limit = live_timeout);
  std::optional<std::string> reply_within(std::chrono::nanoseconds limit);
  std::string ask(std::string_view command);  ///< tell, then reply.
  /// ask, for a command that answers `granted TOKEN`; throws std::runtime_error with the reply if it was another.
  std::uint64_t granted(std::string_view command);
  std::uint64_t granted_reply();

  void kill();    ///< SIGKILL, and waits for the end.
  void pause();   ///< SIGSTOP, and waits until it stands still.
  void resume();  ///< SIGCONT.
  int exit();     ///< Lets it end by itself; its exit status.
  pid_t pid() const noexcept { return pid_; }

 private:
  std::optional<std::string> buffered_line();
  void reap() noexcept;

  std::string program_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string buffer_;
};

/// A program or library that is built beside the test.
std::string beside_this_program(std::string_view file);

}  // namespace holdfast::testing
