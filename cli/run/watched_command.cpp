#include "watched_command.hpp"

#include "../arguments.hpp"
#include "../exit_code.hpp"
#include "../output.hpp"
#include "start_command.hpp"

#include <holdfast/lease_clock.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stop_token>
#include <string>
#include <system_error>

namespace holdfast::cli {
namespace {

using clock = std::chrono::steady_clock;

int code_of_status(int status) {
  return WIFSIGNALED(status) ? exit_code::of_signal(WTERMSIG(status)) : WEXITSTATUS(status);
}

}  // namespace

watched_command::watched_command(const run_request& request, lease held, ledger& book, inbox& orders)
    : request_(request), held_(std::move(held)), book_(book), orders_(orders), job_(::getppid()) {}

int watched_command::run(const inherited_signals& before) {
  const unique_fd loss(::eventfd(0, EFD_CLOEXEC));
  if (!loss) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  const std::stop_callback wake(held_.lost(), [fd = loss.get()] { ::eventfd_write(fd, 1); });
  if (is_lost()) {
    say("lost " + quoted(request_.name) + " before the command was started (" + to_string(held_.loss_cause()) + ")");
    return exit_code::lost;
  }
  start(before);
  const int code = watch(loss.get());
  // However it ended: a supervisor that is stopped could not tell.
  job_.command_went_on();
  return code;
}

void watched_command::start(const inherited_signals& before) {
  publish();
  book_.enter(phase::running);
  command_ = start_command(request_, held_.token(), before);
  // The command was born into the supervisor's process group because we are still in it. A stop signal that reached
  // the group just before is known to us alone.
  if (const auto number = pending_stop()) ::kill(command_, *number);
  // From here on what the terminal or `kill -PGID` sends goes to the command and not to us, SIGKILL included. What came
  // meanwhile it has.
  ::setpgid(0, 0);
  orders_.drop_signals();
  look_at_children();
}

int watched_command::watch(int loss_fd) {
  // The lease is renewed every third of its ttl; looking a little more often keeps the ledger ahead of it.
  const auto look = std::chrono::duration_cast<std::chrono::milliseconds>(request_.ttl / 4);
  const int timeout = static_cast<int>(std::clamp<std::int64_t>(look.count(), 1, 60'000));
  for (;;) {
    const verdict now = follow_orders();
    // Before the exit code: a command whose lock was lost did not do its work under it, however it ended.
    if (is_lost()) return end_lost();
    if (now == verdict::orphaned) return end_orphaned();
    if (now == verdict::exited) return end_exited();
    publish();
    std::array<pollfd, 3> waits{
        {{loss_fd, POLLIN, 0}, {orders_.signal_fd(), POLLIN, 0}, {orders_.supervisor_fd(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), timeout);
  }
}

watched_command::verdict watched_command::follow_orders() {
  bool orphaned = false;
  while (const auto one = orders_.next()) {
    switch (one->what) {
      case order::kind::signal:
        pass_on(*one);
        break;
      case order::kind::resumed:
        if (!status_) job_.supervisor_went_on(command_);
        break;
      case order::kind::child:
        look_at_children();
        break;
      case order::kind::supervisor_gone:
        orphaned = true;
        break;
    }
  }
  if (status_) return verdict::exited;
  return orphaned ? verdict::orphaned : verdict::goes_on;
}

void watched_command::pass_on(const order& signal) {
  // Not after it was reaped: the pid may be somebody else's by then.
  if (!status_ && signal.from == message::origin::process) ::kill(command_, signal.signal);
}

void watched_command::look_at_children() {
  int status = 0;
  for (pid_t child; (child = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (child != command_) continue;
    if (WIFSTOPPED(status)) {
      job_.command_stopped(command_, WSTOPSIG(status));
    } else if (WIFCONTINUED(status)) {
      job_.command_went_on();
    } else {
      status_ = status;
    }
  }
}

void watched_command::publish() {
  // The clock is read first: what is written down is never later than the truth.
  const auto now = lease_clock::now();
  book_.publish((now + held_.remaining()).time_since_epoch().count());
}

int watched_command::end_lost() {
  say("lost " + quoted(request_.name) + " while the command ran (" + to_string(held_.loss_cause()) +
      "); the command is ended");
  end_rest();
  return exit_code::lost;
}

int watched_command::end_exited() {
  // What the command left running in the background is protected work too: it must not outlive the lock.
  if (process_tree::reap()) end_rest();
  return release(code_of_status(*status_));
}

int watched_command::end_orphaned() {
  tree_.kill_all();
  return release(exit_code::of_signal(SIGKILL));
}

void watched_command::end_rest() {
  using namespace std::chrono_literals;
  book_.publish((lease_clock::now() + request_.grace + 2s).time_since_epoch().count());
  book_.enter(phase::ending);
  tree_.signal_all(SIGTERM);
  const auto deadline = clock::now() + request_.grace;
  while (!tree_.wait_until_gone(deadline, orders_.supervisor_fd()) && clock::now() < deadline) {
    bool orphaned = false;
    while (const auto one = orders_.next()) orphaned |= one->what == order::kind::supervisor_gone;
    if (orphaned) break;
  }
  tree_.kill_all();
}

int watched_command::release(int code) {
  const auto released = held_.release();
  if (released) return code;
  if (released.error().code == errc::lost) {
    say("lost " + quoted(request_.name) + " while the command ended (" + to_string(held_.loss_cause()) + ")");
    return exit_code::lost;
  }
  say("cannot release " + quoted(request_.name) + ", it comes free when its ttl ends: " + released.error().detail);
  return code;
}

}  // namespace holdfast::cli
