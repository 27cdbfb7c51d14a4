#include "job_mirror.hpp"

#include "process_tree.hpp"

#include <signal.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

bool is_stopped(pid_t pid) {
  const auto now = find_process(pid);
  return now && now->stopped();
}

}  // namespace

bool job_mirror::supervisor_is_stopped() const { return is_stopped(supervisor_); }

void job_mirror::signal_supervisor(int number) const {
  // Once it is gone its pid may be anybody's.
  if (::getppid() == supervisor_) ::kill(supervisor_, number);
}

void job_mirror::command_stopped(pid_t command, int by) {
  stopped_ = true;
  if (is_stopped(command) && !supervisor_is_stopped()) signal_supervisor(by);
}

void job_mirror::command_went_on() {
  // A supervisor that was stopped on its own account, with the command running, is left as its user wants it.
  if (stopped_ && supervisor_is_stopped()) signal_supervisor(SIGCONT);
  stopped_ = false;
}

void job_mirror::supervisor_went_on(pid_t command) {
  if (is_stopped(command) && !supervisor_is_stopped()) ::kill(command, SIGCONT);
}

}  // namespace holdfast::cli
