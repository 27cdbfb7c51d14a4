#include "terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::cli::testing {

terminal::terminal(const std::map<std::string, std::string>& environment, std::vector<std::string> program) {
  std::vector<char*> words;
  for (std::string& word : program) words.push_back(word.data());
  words.push_back(nullptr);
  // The terminal is the child's only once it says so: before, Ctrl-C would reach nobody.
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  winsize size{.ws_row = 50, .ws_col = 400, .ws_xpixel = 0, .ws_ypixel = 0};
  program_ = ::forkpty(&master_, nullptr, nullptr, &size);
  if (program_ < 0) throw std::runtime_error("forkpty");
  if (program_ == 0) {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("PS1", "prompt> ", 1);
    ::setenv("TERM", "dumb", 1);
    if (::write(ready[1], "", 1) == 1) ::execvp(words.front(), words.data());
    ::_exit(127);
  }
  ::close(ready[1]);
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) throw std::runtime_error("the terminal did not start");
  ::close(ready[0]);
}

terminal::~terminal() {
  hang_up();
  if (program_ == 0) return;
  ::kill(program_, SIGKILL);
  ::waitpid(program_, nullptr, 0);
}

int terminal::wait() {
  // The end of the screen is the end of all who have it open; only then is it known to be complete.
  char part[4096];
  for (ssize_t n; (n = ::read(master_, part, sizeof part)) > 0;) screen_.append(part, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(std::exchange(program_, 0), &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void terminal::type(const std::string& text) {
  if (::write(master_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("write");
}

bool terminal::sees(const std::string& text) {
  const auto deadline = std::chrono::steady_clock::now() + live_timeout;
  for (;;) {
    if (const auto at = screen_.find(text, seen_); at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd one{master_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) != 1) return false;
    char part[4096];
    const ssize_t n = ::read(master_, part, sizeof part);
    if (n <= 0) return false;
    screen_.append(part, static_cast<std::size_t>(n));
  }
}

void terminal::hang_up() {
  if (master_ >= 0) ::close(master_);
  master_ = -1;
}

}  // namespace holdfast::cli::testing
