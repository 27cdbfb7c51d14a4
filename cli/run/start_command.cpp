#include "start_command.hpp"

#include "../exit_code.hpp"
#include "../output.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

namespace holdfast::cli {
namespace {

/// The environment with two variables of ours, made before the child: it may not allocate.
class command_environment {
 public:
  command_environment(const std::string& name, fencing_token token)
      : name_("HOLDFAST_NAME=" + name), token_("HOLDFAST_TOKEN=" + std::to_string(token.value())) {
    for (char** variable = environ; *variable; ++variable) {
      const std::string_view text = *variable;
      if (text.starts_with("HOLDFAST_NAME=") || text.starts_with("HOLDFAST_TOKEN=")) continue;
      variables_.push_back(*variable);
    }
    variables_.insert(variables_.end(), {name_.data(), token_.data(), nullptr});
  }
  command_environment(const command_environment&) = delete;

  char* const* variables() const { return variables_.data(); }

 private:
  std::string name_;
  std::string token_;
  std::vector<char*> variables_;
};

/// What the child has to know, as it may not look for it.
struct birth {
  char* const* words;
  char* const* variables;
  const inherited_signals& before;
  const caught_signals& missed;
  pid_t keeper;
};

[[noreturn]] void become_command(const birth& self) {
  self.missed.replay();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The keeper may have died before that was said.
  if (::getppid() != self.keeper) ::_exit(exit_code::lost);
  self.before.restore();
  ::execvpe(self.words[0], self.words, self.variables);

  const int problem = errno;
  char text[1024] = "cannot run '";
  std::strncat(text, self.words[0], sizeof text - 256);
  std::strcat(text, "': ");
  std::strcat(text, ::strerrordesc_np(problem));
  say(text);
  ::_exit(problem == ENOENT || problem == ENOTDIR ? exit_code::not_found : exit_code::not_runnable);
}

}  // namespace

pid_t start_command(const run_request& request, fencing_token token, const inherited_signals& before) {
  const command_environment environment(request.name, token);
  const caught_signals missed(before);
  const birth child{request.command.data(), environment.variables(), before, missed, ::getpid()};
  // Not fork(): copying the page tables of a process with libraries and threads costs more than taking the lock. The
  // child runs in our memory until it becomes the command, and this thread waits for that.
  const pid_t command = ::vfork();
  if (command < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (command == 0) become_command(child);
  return command;
}

}  // namespace holdfast::cli
