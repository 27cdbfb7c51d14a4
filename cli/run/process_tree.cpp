#include "process_tree.hpp"

#include "unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace holdfast::cli {
namespace {

// By number: glibc 2.36 has wrappers, older ones do not.
int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
int signal_pidfd(int fd, int number) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, fd, number, nullptr, 0));
}

struct close_directory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

std::vector<process> all_processes() {
  std::vector<process> found;
  const std::unique_ptr<DIR, close_directory> directory(::opendir("/proc"));
  if (!directory) return found;
  while (const dirent* item = ::readdir(directory.get())) {
    pid_t pid = 0;
    const char* const end = item->d_name + std::strlen(item->d_name);
    if (std::from_chars(item->d_name, end, pid).ptr != end || pid <= 0) continue;
    if (auto one = find_process(pid)) found.push_back(*one);
  }
  return found;
}

/// The process may have gone and its pid been given away since it was seen: only who still is the same gets it.
void send(const process& to, int number) {
  const unique_fd fd(open_pidfd(to.pid));
  const auto now = find_process(to.pid);
  if (!now || now->started != to.started) return;
  const bool woken = number != SIGKILL && now->stopped();
  if (!fd) {
    // Without pidfds (ENOSYS under some sandboxes, too many open files) the look just now has to do.
    ::kill(to.pid, number);
    if (woken) ::kill(to.pid, SIGCONT);
    return;
  }
  signal_pidfd(fd.get(), number);
  if (woken) signal_pidfd(fd.get(), SIGCONT);
}

using clock = std::chrono::steady_clock;

/// Waits until one of `some` exits, `interrupt` becomes readable or the deadline comes.
void wait_for_one(const std::vector<process>& some, clock::time_point deadline, int interrupt) {
  constexpr std::size_t most = 64;  // One exit is enough to look again; no need for a descriptor per process.
  std::vector<unique_fd> fds;
  std::vector<pollfd> waits{{interrupt, POLLIN, 0}};
  for (const process& one : some) {
    if (fds.size() == most) break;
    fds.emplace_back(open_pidfd(one.pid));
    if (fds.back()) waits.push_back({fds.back().get(), POLLIN, 0});
  }
  using std::chrono::milliseconds;
  // Exits that no descriptor tells of are found by looking again now and then.
  const auto longest = waits.size() == fds.size() + 1 ? milliseconds(60'000) : milliseconds(20);
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now());
  ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp(left, milliseconds(0), longest).count()));
}

bool readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&one, 1, 0) == 1;
}

}  // namespace

std::optional<process> find_process(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const unique_fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  std::array<char, 1024> text;
  const ssize_t n = ::read(fd.get(), text.data(), text.size() - 1);
  if (n <= 0) return std::nullopt;
  text[static_cast<std::size_t>(n)] = '\0';
  // The name in brackets may hold anything, brackets too: count from the last one.
  const char* const rest = std::strrchr(text.data(), ')');
  process found{.pid = pid};
  if (!rest || std::sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
                           &found.state, &found.parent, &found.threads, &found.started) != 4) {
    return std::nullopt;
  }
  return found;
}

process_tree::process_tree() {
  siginfo_t ignored{};
  // Nearly always there are none, and one call says so.
  if (::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) != 0) return;
  for (const process& one : all_processes()) {
    if (one.parent == ::getpid()) foreign_.push_back(one);
  }
}

bool process_tree::is_foreign(const process& child) const {
  return std::ranges::any_of(foreign_,
                             [&](const process& f) { return f.pid == child.pid && f.started == child.started; });
}

std::vector<process> process_tree::living(pid_t spared) const {
  std::vector<process> all = all_processes();
  std::ranges::sort(all, {}, &process::parent);
  std::vector<process> found;
  std::vector<pid_t> parents{::getpid()};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const process& child : std::ranges::equal_range(all, parent, {}, &process::parent)) {
      if (is_foreign(child)) continue;
      parents.push_back(child.pid);
      if (!child.dead() && child.pid != spared) found.push_back(child);
    }
  }
  return found;
}

bool process_tree::reap() noexcept {
  pid_t child = 0;
  do {
    child = ::waitpid(-1, nullptr, WNOHANG);
  } while (child > 0);
  return child == 0;
}

void process_tree::signal_all(int number, pid_t spared) const {
  for (const process& one : living(spared)) send(one, number);
}

bool process_tree::wait_until_gone(clock::time_point deadline, int interrupt, pid_t spared) const {
  for (;;) {
    reap();
    const auto left = living(spared);
    if (left.empty()) return true;
    if (clock::now() >= deadline || readable(interrupt)) return false;
    wait_for_one(left, deadline, interrupt);
  }
}

void process_tree::kill_all() const {
  for (;;) {
    reap();
    const auto left = living();
    if (left.empty()) break;
    // Whoever forked between the look and the signal is dead now, and its child is ours: it is found next time round.
    for (const process& one : left) send(one, SIGKILL);
    wait_for_one(left, clock::time_point::max(), -1);
  }
  reap();
}

}  // namespace holdfast::cli
