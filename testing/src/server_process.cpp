#include <holdfast/testing/server_process.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace holdfast::testing {

namespace {

/// The status; -1: with WNOHANG, it has not ended.
int reap(pid_t pid, int flags) {
  int status = 0;
  pid_t outcome = 0;
  while ((outcome = ::waitpid(pid, &status, flags)) < 0 && errno == EINTR) {
  }
  return outcome == 0 ? -1 : status;
}

/// In the child: only what is allowed between fork and exec.
[[noreturn]] void become(const std::vector<char*>& words, const char* log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

server_process::~server_process() {
  if (running()) kill();
}

void server_process::launch(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t made = ::fork();
  if (made == 0) become(pointers, log.c_str(), parent);
  if (made < 0) throw std::runtime_error("fork");
  pid_ = made;
}

bool server_process::ended() {
  if (!running()) return true;
  const int status = reap(pid_, WNOHANG);
  if (status < 0) return false;
  missing_ = WIFEXITED(status) && WEXITSTATUS(status) == 127;
  pid_ = -1;
  return true;
}

void server_process::kill() {
  ::kill(pid_, SIGKILL);
  reap(pid_, 0);
  pid_ = -1;
}

void server_process::pause() {
  ::kill(pid_, SIGSTOP);
  reap(pid_, WUNTRACED);
}

void server_process::resume() { ::kill(pid_, SIGCONT); }

}  // namespace holdfast::testing
