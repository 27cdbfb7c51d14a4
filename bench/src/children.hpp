#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// A measurement that came to nothing, and what `holdfast bench` exits with for it.
class measurement_error : public std::runtime_error {
 public:
  measurement_error(int exit_code, const std::string& text) : std::runtime_error(text), exit_code_(exit_code) {}
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 64;
inline constexpr int exit_unavailable = 69;
inline constexpr int exit_interrupted = 130;

/// Where a child says why it fails; in memory shared with its parent. The first to speak is heard.
struct failure_note {
  int taken = 0;
  int exit_code = 0;
  char text[900] = {};

  void write(int code, std::string_view why) noexcept;
};

/// The note an exception is worth: holdfast::error by its code, everything else exit_failed.
void note_exception(failure_note& note) noexcept;

/// Forked processes that do the measuring. A child never outlives its parent, and no child outlives this object.
class children {
 public:
  children() = default;
  children(const children&) = delete;
  children& operator=(const children&) = delete;
  ~children();

  /// Forks; the child runs `body` and exits. What `body` throws is written to `note`.
  void start(failure_note& note, const std::function<void()>& body);

  /// Waits until all have ended, calling `tick` now and then. Throws measurement_error when one fails, when `limit` is
  /// over (a lock that never comes free) or when the user interrupts, and then ends them all.
  void wait(failure_note& note, std::chrono::nanoseconds limit, const std::function<void()>& tick);

 private:
  bool reap(failure_note& note);
  void end_all() noexcept;

  std::vector<pid_t> running_;
};

/// While alive, SIGINT, SIGTERM and SIGHUP are noted instead of ending the process: temporary files have to go.
class interruption {
 public:
  interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption();

  static bool happened() noexcept;
};

}  // namespace holdfast::bench
