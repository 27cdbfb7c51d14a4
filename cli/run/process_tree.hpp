#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

namespace holdfast::cli {

/// One process as /proc tells of it. Pid and start time together name it for ever.
struct process {
  pid_t pid = 0;
  pid_t parent = 0;
  unsigned long long started = 0;
  int threads = 1;
  char state = '?';

  bool stopped() const noexcept { return state == 'T' || state == 't'; }
  /// A process whose first thread has ended looks like a zombie while its other threads run on.
  bool dead() const noexcept { return state == 'X' || (state == 'Z' && threads <= 1); }
};

std::optional<process> find_process(pid_t pid);

/// Everything that descends from the calling process, wherever it moved its process group or session to.
///
/// Requires: the caller is a child subreaper, so that descendants whose parents died become its children.
class process_tree {
 public:
  /// Children the process has now already are none of ours (somebody forked, then called exec): they are spared.
  process_tree();

  /// Living descendants, but for `spared` and those of the children there were before.
  std::vector<process> living(pid_t spared = 0) const;
  /// Reaps, without waiting, what is dead. False: there are no children at all.
  static bool reap() noexcept;

  /// Sends `number` to every living descendant but `spared`, and wakes those that are stopped so that they can act on
  /// it.
  void signal_all(int number, pid_t spared = 0) const;
  /// True: nobody but `spared` is left. Stops waiting at the deadline, or when `interrupt` becomes readable.
  bool wait_until_gone(std::chrono::steady_clock::time_point deadline, int interrupt, pid_t spared = 0) const;
  /// Kills all descendants and comes back when they are gone. What may not be killed (another user's) is waited for.
  void kill_all() const;

 private:
  bool is_foreign(const process& child) const;

  std::vector<process> foreign_;
};

}  // namespace holdfast::cli
