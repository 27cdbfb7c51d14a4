#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::cli::testing {
namespace {

struct pipe_ends {
  int read = -1;
  int write = -1;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  // Nothing is read before the program has ended: all that it says must fit.
  ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  return {ends[0], ends[1]};
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

int left_ms(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

bool readable_by(int fd, std::chrono::steady_clock::time_point deadline) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, left_ms(deadline)) == 1;
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  const auto deadline = std::chrono::steady_clock::now() + live_timeout;
  while (fd >= 0 && readable_by(fd, deadline)) {
    const ssize_t n = ::read(fd, part, sizeof part);
    if (n <= 0) break;
    text.append(part, static_cast<std::size_t>(n));
  }
  return text;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable;
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

child::child(std::vector<std::string> words, const options& how) {
  pipe_ends in = make_pipe();
  pipe_ends out = make_pipe();
  pipe_ends err = make_pipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.read, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  // Whoever runs the tests may ignore signals: a background job of sh does.
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A process group of its own, so that tests can signal the group as a shell would.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  auto environment = environment_with(how.environment);
  const int failed = ::posix_spawnp(&pid_, words.front().c_str(), &actions, &attributes, pointers(words).data(),
                                    pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  close_fd(in.read);
  close_fd(out.write);
  close_fd(err.write);
  if (failed != 0) throw std::runtime_error("cannot start " + words.front());
  in_ = in.write;
  out_ = out.read;
  err_ = err.read;
}

child::child(child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      line_buffer_(std::move(other.line_buffer_)) {}

child::~child() {
  if (pid_ != 0 && !status_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_fd(in_);
  close_fd(out_);
  close_fd(err_);
}

void child::signal(int number) const { ::kill(pid_, number); }
void child::signal_group(int number) const { ::kill(-pid_, number); }

void child::write_line(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) throw std::runtime_error("write");
}

void child::close_input() { close_fd(in_); }

std::optional<std::string> child::read_line() {
  const auto deadline = std::chrono::steady_clock::now() + live_timeout;
  for (;;) {
    if (const auto end = line_buffer_.find('\n'); end != std::string::npos) {
      std::string line = line_buffer_.substr(0, end);
      line_buffer_.erase(0, end + 1);
      return line;
    }
    char part[4096];
    if (!readable_by(out_, deadline)) return std::nullopt;
    const ssize_t n = ::read(out_, part, sizeof part);
    if (n <= 0) return std::nullopt;
    line_buffer_.append(part, static_cast<std::size_t>(n));
  }
}

int child::wait() {
  if (!status_) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    const bool ended = readable_by(fd, std::chrono::steady_clock::now() + live_timeout);
    ::close(fd);
    if (!ended) return -1000;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  return *status_;
}

std::string child::out() { return std::exchange(line_buffer_, {}) + read_all(out_); }
std::string child::err() { return read_all(err_); }

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto bracket = text.rfind(')');
  return bracket == std::string::npos ? '-' : text.at(bracket + 2);
}

bool is_alive(pid_t pid) {
  const char state = state_of(pid);
  return state != '-' && state != 'Z' && state != 'X';
}

bool wait_until_gone(pid_t pid) {
  return eventually([pid] { return !is_alive(pid); });
}

void pause_between_looks() { ::poll(nullptr, 0, 2); }

}  // namespace holdfast::cli::testing
