#pragma once

#include <sys/types.h>

namespace holdfast::cli {

/// Lets the supervisor, the only process the shell looks at, stop and go on with the command.
///
/// After Ctrl-Z and `fg` the kernel has done both already, and news of it may reach the keeper late. So every step
/// looks at how the two processes are now and does only what is left to do; a step that lost a race is put right by the
/// next one, as every change of the command brings one.
class job_mirror {
 public:
  explicit job_mirror(pid_t supervisor) noexcept : supervisor_(supervisor) {}

  void command_stopped(pid_t command, int by);
  void command_went_on();  ///< Or ended.
  /// Somebody continued the supervisor: the command follows, unless the job was stopped again meanwhile.
  void supervisor_went_on(pid_t command);

 private:
  bool supervisor_is_stopped() const;
  void signal_supervisor(int number) const;

  const pid_t supervisor_;
  bool stopped_ = false;  ///< The command was, when last heard of.
};

}  // namespace holdfast::cli
