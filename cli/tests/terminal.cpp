#include "terminal.hpp"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace holdfast::cli::testing {

terminal::terminal(const std::map<std::string, std::string>& environment) {
  winsize size{.ws_row = 50, .ws_col = 400, .ws_xpixel = 0, .ws_ypixel = 0};
  shell_ = ::forkpty(&master_, nullptr, nullptr, &size);
  if (shell_ < 0) throw std::runtime_error("forkpty");
  if (shell_ == 0) {
    for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("PS1", "prompt> ", 1);
    ::setenv("TERM", "dumb", 1);
    ::execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", static_cast<char*>(nullptr));
    ::_exit(127);
  }
}

terminal::~terminal() {
  hang_up();
  ::kill(shell_, SIGKILL);
  ::waitpid(shell_, nullptr, 0);
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
