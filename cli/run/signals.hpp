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
  sigset_t forwarded() const noexcept;

  /// Between fork and exec: async-signal-safe.
  void restore() const noexcept;

 private:
  sigset_t mask_;
  struct sigaction child_;
};

/// For the supervisor: what it reads from a descriptor does not interrupt it; stop signals act on it as on any job.
unique_fd listen_as_supervisor(const inherited_signals& before);

/// For the keeper: nothing but SIGKILL and SIGSTOP, and its own crashes, reaches it except by the descriptor. Before
/// its first thread, so that no library thread takes a signal away.
unique_fd listen_as_keeper(const inherited_signals& before);

/// The next signal if there is one; does not block.
std::optional<signalfd_siginfo> next_signal(const unique_fd& listening) noexcept;

/// Is a stop signal of the terminal waiting for this process, which blocks them? SIGCONT takes such a signal away, so
/// this says whether the job is stopped now.
std::optional<int> pending_stop() noexcept;

}  // namespace holdfast::cli
