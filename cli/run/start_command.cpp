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

/// The environment with two variables of ours, made before the fork: afterwards nothing may be allocated.
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

[[noreturn]] void become(char* const* words, char* const* variables, const inherited_signals& before, pid_t keeper) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The keeper may have died before that was said.
  if (::getppid() != keeper) ::_exit(exit_code::lost);
  before.restore();
  ::execvpe(words[0], words, variables);

  const int problem = errno;
  char text[1024] = "cannot run '";
  std::strncat(text, words[0], sizeof text - 256);
  std::strcat(text, "': ");
  std::strcat(text, ::strerrordesc_np(problem));
  say(text);
  ::_exit(problem == ENOENT || problem == ENOTDIR ? exit_code::not_found : exit_code::not_runnable);
}

}  // namespace

pid_t start_command(const run_request& request, fencing_token token, const inherited_signals& before) {
  const command_environment environment(request.name, token);
  const pid_t keeper = ::getpid();
  const pid_t command = ::fork();
  if (command < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (command == 0) become(request.command.data(), environment.variables(), before, keeper);
  return command;
}

}  // namespace holdfast::cli
