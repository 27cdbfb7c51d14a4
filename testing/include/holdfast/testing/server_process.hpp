#pragma once

#include <holdfast/testing/eventually.hpp>

#include <sys/types.h>

#include <string>
#include <vector>

namespace holdfast::testing {

/// The process of a real server. Gone with this object, and with the test, should that be killed.
///
/// Thread safety: one thread at a time.
class server_process {
 public:
  server_process() = default;
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process();

  /// Starts it, with its output in the file `log`. Returns at once. Requires: not running.
  void launch(std::vector<std::string> words, const std::string& log);
  /// Waits until it serves. False if it ended by itself before, or takes too long: it is gone then.
  template <class Serves>
  [[nodiscard]] bool await(Serves serves) {
    if (eventually([&] { return ended() || serves(); }) && running()) return true;
    if (running()) kill();
    return false;
  }

  bool running() const noexcept { return pid_ > 0; }  ///< Or paused.
  pid_t pid() const noexcept { return pid_; }         ///< Requires: running.
  bool ended();                                       ///< By itself, or it was never launched.
  bool missing() const noexcept { return missing_; }  ///< It ended because there is no such program.

  void kill();  ///< SIGKILL, and waits for the end.
  void pause();
  void resume();

 private:
  pid_t pid_ = -1;
  bool missing_ = false;
};

}  // namespace holdfast::testing
