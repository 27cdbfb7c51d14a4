#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli::testing {

/// How long anything that should happen soon may take before a test gives up on it.
inline constexpr std::chrono::seconds live_timeout{20};

/// Asks `holds` again and again until it says yes; false after live_timeout.
template <class F>
bool eventually(F holds);

/// A program that runs with pipes on its standard streams. Killed, with its process group, if it outlives this object.
class child {
 public:
  struct options {
    std::map<std::string, std::string> environment;  ///< Added to ours.
  };

  child(std::vector<std::string> words, const options& how);
  child(child&& other) noexcept;
  ~child();

  pid_t pid() const { return pid_; }
  /// Also that of its process group.
  void signal(int number) const;
  void signal_group(int number) const;

  void write_line(const std::string& line);
  void close_input();
  /// The next line of standard output, or nothing at its end or after live_timeout.
  std::optional<std::string> read_line();

  /// Waits for its end: the exit code, or -n for signal n; -1000 after live_timeout.
  int wait();
  /// All of standard output (but for the lines read) and error; requires: wait() came back.
  std::string out();
  std::string err();

 private:
  pid_t pid_ = 0;
  std::optional<int> status_;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string line_buffer_;
};

/// Comes back once the process is gone (a zombie counts as gone); false after live_timeout.
bool wait_until_gone(pid_t pid);
bool is_alive(pid_t pid);
/// The state letter of /proc/PID/stat, '-' if there is no such process.
char state_of(pid_t pid);
/// Gives other processes a moment before the next look.
void pause_between_looks();

template <class F>
bool eventually(F holds) {
  const auto deadline = std::chrono::steady_clock::now() + live_timeout;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pause_between_looks();
  }
  return true;
}

}  // namespace holdfast::cli::testing
