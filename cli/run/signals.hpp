#pragma once

#include "unique_fd.hpp"

#include <signal.h>
#include <sys/signalfd.h>

#include <optional>

namespace holdfast::cli {

/// Signals as whoever started us had set them, to be given to the command unchanged.
class inherited_signals {
 public:
  inherited_signals() noexcept;

  /// Those that are passed on to the command, without what we were told to ignore (nohup, background jobs of sh).
  const sigset_t& forwarded() const noexcept { return forwarded_; }

  /// Between fork and exec: async-signal-safe.
  void restore() const noexcept;

 private:
  sigset_t mask_;
  sigset_t forwarded_;
  struct sigaction child_;
};

/// For the supervisor: what it reads from a descriptor does not interrupt it; stop signals act on it as on any job.
unique_fd listen_as_supervisor(const inherited_signals& before);

/// For the keeper: nothing but SIGKILL and SIGSTOP, and its own crashes, reaches it except by the descriptor. Before
/// its first thread, so that no library thread takes a signal away.
unique_fd listen_as_keeper(const inherited_signals& before);

/// The next signal if there is one; does not block.
std::optional<signalfd_siginfo> next_signal(const unique_fd& listening) noexcept;

/// Makes sure that a child gets every forwarded signal that is sent to the process group while it is started, once.
///
/// A signal that came before the fork has missed the child; one that came after has reached it too. Blocked signals do
/// not say which it was. But the kernel (from 4.20 on) has every signal that is not blocked handled before the fork,
/// and gives those to a group that come during the fork to the child as well. So they are caught from construction to
/// destruction, and what was caught when the child is born is what it has missed.
///
/// Requires: one at a time, on the thread that forks, where the signals are blocked.
class caught_signals {
 public:
  explicit caught_signals(const inherited_signals& before) noexcept;
  ~caught_signals();  ///< Blocks the signals again and forgets what was caught.
  caught_signals(const caught_signals&) = delete;

  /// Blocks the signals again and sends this process what was caught. Async-signal-safe.
  void replay() const noexcept;

 private:
  void block() const noexcept;

  const sigset_t forwarded_;
};

/// Is a stop signal of the terminal waiting for this process, which blocks them? SIGCONT takes such a signal away, so
/// this says whether the job is stopped now.
std::optional<int> pending_stop() noexcept;

}  // namespace holdfast::cli
