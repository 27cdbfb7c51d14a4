#include "signals.hpp"

#include <atomic>
#include <cerrno>
#include <initializer_list>
#include <system_error>

namespace holdfast::cli {
namespace {

constexpr std::initializer_list<int> passed_on{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// What caught_signals caught, a bit per number: a handler can reach nothing else.
std::atomic<unsigned> caught{0};
static_assert(std::atomic<unsigned>::is_always_lock_free);

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
  ::sigemptyset(&forwarded_);
  for (const int n : passed_on) {
    struct sigaction now{};
    if (::sigaction(n, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) ::sigaddset(&forwarded_, n);
  }
}

void inherited_signals::restore() const noexcept {
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

caught_signals::caught_signals(const inherited_signals& before) noexcept : forwarded_(before.forwarded()) {
  caught = 0;
  struct sigaction catching{};
  catching.sa_handler = [](int number) { caught |= 1U << number; };
  ::sigfillset(&catching.sa_mask);
  for (const int n : passed_on) {
    if (::sigismember(&forwarded_, n) == 1) ::sigaction(n, &catching, nullptr);
  }
  ::sigprocmask(SIG_UNBLOCK, &forwarded_, nullptr);
}

caught_signals::~caught_signals() { block(); }

void caught_signals::block() const noexcept {
  ::sigprocmask(SIG_BLOCK, &forwarded_, nullptr);
  struct sigaction normal{};
  normal.sa_handler = SIG_DFL;
  for (const int n : passed_on) {
    if (::sigismember(&forwarded_, n) == 1) ::sigaction(n, &normal, nullptr);
  }
}

void caught_signals::replay() const noexcept {
  block();
  for (const int n : passed_on) {
    if ((caught & (1U << n)) != 0) ::kill(::getpid(), n);
  }
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
