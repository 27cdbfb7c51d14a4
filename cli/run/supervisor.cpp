#include "supervisor.hpp"

#include "../arguments.hpp"
#include "../exit_code.hpp"
#include "../output.hpp"
#include "channel.hpp"
#include "keeper.hpp"
#include "ledger.hpp"
#include "process_tree.hpp"
#include "signals.hpp"

#include <holdfast/lease_clock.hpp>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

class supervisor {
 public:
  supervisor(const run_request& request, ledger& book, const process_tree& tree, channel line, unique_fd signals,
             pid_t keeper)
      : request_(request),
        book_(book),
        tree_(tree),
        line_(std::move(line)),
        signals_(std::move(signals)),
        timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
        keeper_(keeper),
        leads_session_(::getsid(0) == ::getpid()) {
    ring_at(lease_clock::now() + request.ttl / 2);
  }

  int watch() {
    for (;;) {
      std::array<pollfd, 3> waits{{{signals_.get(), POLLIN, 0}, {line_.fd(), POLLIN, 0}, {timer_.get(), POLLIN, 0}}};
      ::poll(waits.data(), waits.size(), -1);
      if (const auto code = follow_signals()) return *code;
      // The line carries nothing this way; that the keeper is gone, SIGCHLD tells with more.
      if (waits[1].revents != 0) line_.close();
      if (waits[2].revents == 0) continue;
      if (const auto code = look_at_clock()) return *code;
    }
  }

 private:
  std::optional<int> follow_signals() {
    while (const auto signal = next_signal(signals_)) {
      const int number = static_cast<int>(signal->ssi_signo);
      if (number == SIGCHLD) {
        if (const auto status = keeper_status()) return answer(*status);
      } else if (number == SIGCONT) {
        line_.send({.what = message::kind::resumed});
      } else if (book_.end_connecting(phase::abandoned)) {
        // Connecting can take long and cannot be interrupted; but nothing is in the store yet.
        tree_.kill_all();
        return exit_code::of_signal(number);
      } else {
        line_.send({.what = message::kind::signal, .from = origin(*signal), .signal = number});
      }
    }
    return std::nullopt;
  }

  message::origin origin(const signalfd_siginfo& signal) const {
    if (signal.ssi_code != SI_KERNEL) return message::origin::process;
    // When a terminal is closed, the kernel tells the leader of its session alone.
    if (signal.ssi_signo == SIGHUP && leads_session_) return message::origin::process;
    return message::origin::terminal;
  }

  std::optional<int> keeper_status() {
    std::optional<int> found;
    int status = 0;
    for (pid_t child; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (child == keeper_) found = status;
    }
    return found;
  }

  int answer(int status) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    // Its children are ours now: the kernel has killed the command, the rest is for us.
    tree_.kill_all();
    const std::string how = " was killed by signal " + std::to_string(WTERMSIG(status));
    if (book_.where() == phase::waiting || book_.where() == phase::connecting) {
      say("the process that asks for " + quoted(request_.name) + how);
      return exit_code::internal;
    }
    say("lost " + quoted(request_.name) + " while the command ran: the process that held it" + how);
    return exit_code::lost;
  }

  void ring_at(lease_clock::time_point when) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
    itimerspec at{};
    at.it_value.tv_sec = seconds.time_since_epoch().count();
    at.it_value.tv_nsec = (when - seconds).count();
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  /// A keeper that is stopped cannot renew, and cannot tell the command that the lease has run out.
  std::optional<int> look_at_clock() {
    const auto now = lease_clock::now();
    // No lease obtained from now on ends before half its ttl has passed: looking that often needs no word of the
    // keeper.
    auto next = now + request_.ttl / 2;
    if (book_.where() >= phase::running) {
      next = lease_clock::time_point(lease_clock::duration(book_.valid_until()));
      if (now >= next) {
        // One that is only late gets a moment to act by itself, so that one of us speaks and not both.
        const bool late = book_.where() == phase::running && now >= next + 250ms;
        const auto keeper = find_process(keeper_);
        if (late || (keeper && keeper->stopped())) return take_over();
        next = now + 50ms;
      }
    }
    ring_at(next);
    return std::nullopt;
  }

  int take_over() {
    say("lost " + quoted(request_.name) +
        " while the command ran: the process that held it was stopped beyond the ttl; the command is ended");
    tree_.signal_all(SIGTERM, keeper_);
    tree_.wait_until_gone(clock::now() + request_.grace, -1, keeper_);
    tree_.kill_all();
    return exit_code::lost;
  }

  const run_request& request_;
  ledger& book_;
  const process_tree& tree_;
  channel line_;
  unique_fd signals_;
  unique_fd timer_;
  const pid_t keeper_;
  const bool leads_session_;
};

}  // namespace

int supervise(const run_request& request) {
  const inherited_signals before;
  const process_tree tree;
  ledger book;
  auto [mine, keepers] = channel::make();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  unique_fd signals = listen_as_supervisor(before);
  const caught_signals caught(before);
  const pid_t keeper = ::fork();
  // In both: the keeper has missed what came before it was born; and what came for us alone would be lost.
  caught.replay();
  if (keeper < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (keeper == 0) {
    mine.close();
    signals.reset();
    return keep(request, before, book, std::move(keepers));
  }
  keepers.close();
  return supervisor(request, book, tree, std::move(mine), std::move(signals), keeper).watch();
}

}  // namespace holdfast::cli
