#include "signals.hpp"

#include <cerrno>
#include <initializer_list>
#include <system_error>

namespace holdfast::cli {
namespace {

constexpr std::initializer_list<int> passed_on{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

unique_fd listen(const sigset_t& heard, const sigset_t& blocked) {
  if (::sigprocmask(SIG_BLOCK, &blocked, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot block signals");
  }
  // Inherited as ignored, SIGCHLD would make the kernel reap children before we can ask how they ended.
  struct sigaction normal{};
  normal.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &normal, nullptr);
  unique_fd fd(::signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw std::system_error(errno, std::generic_category(), "cannot listen for signals");
  return fd;
}

sigset_t heard_signals(const inherited_signals& before) {
  sigset_t heard = before.forwarded();
  ::sigaddset(&heard, SIGCHLD);
  ::sigaddset(&heard, SIGCONT);
  return heard;
}

}  // namespace

inherited_signals::inherited_signals() noexcept {
  ::sigprocmask(SIG_BLOCK, nullptr, &mask_);
  ::sigaction(SIGCHLD, nullptr, &child_);
}

sigset_t inherited_signals::forwarded() const noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int n : passed_on) {
    struct sigaction now{};
    if (::sigaction(n, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::sigaddset(&set, n);
  }
  return set;
}

void inherited_signals::restore() const noexcept {
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

unique_fd listen_as_supervisor(const inherited_signals& before) {
  const sigset_t heard = heard_signals(before);
  sigset_t blocked = heard;
  ::sigaddset(&blocked, SIGPIPE);
  return listen(heard, blocked);
}

unique_fd listen_as_keeper(const inherited_signals& before) {
  sigset_t blocked;
  ::sigfillset(&blocked);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) ::sigdelset(&blocked, crash);
  return listen(heard_signals(before), blocked);
}

std::optional<signalfd_siginfo> next_signal(const unique_fd& listening) noexcept {
  signalfd_siginfo text;
  ssize_t n = 0;
  do {
    n = ::read(listening.get(), &text, sizeof text);
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof text)) return std::nullopt;
  return text;
}

std::optional<int> pending_stop() noexcept {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return std::nullopt;
  for (const int n : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    if (::sigismember(&pending, n) == 1) return n;
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
