#include "children.hpp"

#include <holdfast/error.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <thread>

namespace holdfast::bench {

namespace {

volatile sig_atomic_t interrupted = 0;
constexpr std::array watched_signals{SIGINT, SIGTERM, SIGHUP};

void note_signal(int) { interrupted = 1; }

void handle_signals(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  for (const int number : watched_signals) ::sigaction(number, &action, nullptr);
}

std::string describe(pid_t pid, int status) {
  std::string text = "measuring process " + std::to_string(pid);
  if (WIFSIGNALED(status)) return text + " was ended by signal " + std::to_string(WTERMSIG(status));
  return text + " exited with " + std::to_string(WEXITSTATUS(status)) + " without saying why";
}

[[noreturn]] void be_child(pid_t parent, failure_note& note, const std::function<void()>& body) {
  handle_signals(SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(exit_failed);  // it died before the line above
  try {
    body();
  } catch (...) {
    note_exception(note);
    ::_exit(exit_failed);
  }
  // Not exit(): the parent's handlers and unwritten output are not this process's to finish.
  ::_exit(0);
}

}  // namespace

void failure_note::write(int code, std::string_view why) noexcept {
  if (__atomic_exchange_n(&taken, 1, __ATOMIC_SEQ_CST) != 0) return;
  exit_code = code;
  const std::size_t length = std::min(why.size(), sizeof(text) - 1);
  std::memcpy(text, why.data(), length);
  text[length] = '\0';
}

void note_exception(failure_note& note) noexcept {
  try {
    throw;
  } catch (const measurement_error& e) {
    note.write(e.exit_code(), e.what());
  } catch (const holdfast::error& e) {
    const bool usage = e.code() == errc::invalid_argument || e.code() == errc::unsupported;
    note.write(usage ? exit_usage : e.code() == errc::unavailable ? exit_unavailable : exit_failed, e.what());
  } catch (const std::exception& e) {
    note.write(exit_failed, e.what());
  } catch (...) {
    note.write(exit_failed, "an exception of unknown type");
  }
}

children::~children() { end_all(); }

void children::start(failure_note& note, const std::function<void()>& body) {
  std::fflush(nullptr);  // else the child owns a copy of what is still unwritten
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) be_child(parent, note, body);
  running_.push_back(pid);
}

void children::wait(failure_note& note, std::chrono::nanoseconds limit, const std::function<void()>& tick) {
  using namespace std::chrono_literals;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!reap(note)) {
    if (interruption::happened()) throw measurement_error(exit_interrupted, "interrupted");
    if (std::chrono::steady_clock::now() > deadline)
      throw measurement_error(exit_failed, "stuck: not finished long after its time was over");
    tick();
    std::this_thread::sleep_for(20ms);
  }
}

// True when no child is left.
bool children::reap(failure_note& note) {
  for (auto child = running_.begin(); child != running_.end();) {
    int status = 0;
    const pid_t pid = ::waitpid(*child, &status, WNOHANG);
    if (pid == 0) {
      ++child;
      continue;
    }
    child = running_.erase(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    if (interruption::happened()) throw measurement_error(exit_interrupted, "interrupted");
    if (note.exit_code != 0) throw measurement_error(note.exit_code, note.text);
    throw measurement_error(exit_failed, describe(pid, status));
  }
  return running_.empty();
}

void children::end_all() noexcept {
  for (const pid_t pid : running_) ::kill(pid, SIGKILL);
  for (const pid_t pid : running_) ::waitpid(pid, nullptr, 0);
  running_.clear();
}

interruption::interruption() {
  interrupted = 0;
  handle_signals(note_signal);
}

interruption::~interruption() { handle_signals(SIG_DFL); }

bool interruption::happened() noexcept { return interrupted != 0; }

}  // namespace holdfast::bench
