#include <holdfast/testing/holder_process.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace holdfast::testing {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

struct pipe_ends {
  int read = -1;
  int write = -1;
};

/// Closed on exec: a holder that inherited another's pipe would keep it open beyond the test.
pipe_ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "pipe2");
  return {ends[0], ends[1]};
}

std::vector<std::string> environment_with(const holder_process::environment& extra) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!extra.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : extra) all.push_back(name + "=" + value);
  return all;
}

std::string lock_holder() {
  const char* given = std::getenv("HOLDFAST_LOCK_HOLDER");
  return given != nullptr ? given : beside_this_program("lock_holder");
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& s : strings) all.push_back(s.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::string beside_this_program(std::string_view file) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / file).string();
}

holder_process::holder_process(const environment& extra) : holder_process({lock_holder()}, extra) {}

holder_process::holder_process(std::vector<std::string> command_line, const environment& extra)
    : program_(std::filesystem::path(command_line.at(0)).filename().string()) {
  ::signal(SIGPIPE, SIG_IGN);  // Writing to a holder that was killed is an answer, not an end.
  const pipe_ends commands = make_pipe();
  const pipe_ends replies = make_pipe();

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, commands.read, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, replies.write, STDOUT_FILENO);
  std::vector<std::string> variables = environment_with(extra);
  const int error = ::posix_spawnp(&pid_, command_line[0].c_str(), &actions, nullptr, pointers(command_line).data(),
                                   pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(commands.read);
  ::close(replies.write);
  to_ = commands.write;
  from_ = replies.read;
  if (error != 0) {
    pid_ = -1;
    ::close(to_);
    ::close(from_);
    fail(error, "start " + command_line[0]);
  }
}

holder_process holder_process::connected(const std::string& url, std::chrono::milliseconds ttl,
                                         const environment& extra) {
  holder_process holder(extra);
  const std::string answer = holder.ask("connect " + url + " ttl=" + std::to_string(ttl.count()));
  if (answer != "ok") throw std::runtime_error("lock_holder could not connect: " + answer);
  return holder;
}

holder_process::holder_process(holder_process&& other) noexcept
    : program_(std::move(other.program_)),
      pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      buffer_(std::move(other.buffer_)) {}

holder_process::~holder_process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    reap();
  }
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
}

void holder_process::tell(std::string_view command) {
  const std::string line = std::string(command) + "\n";
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail(errno, "tell " + program_);
}

std::optional<std::string> holder_process::buffered_line() {
  const auto end = buffer_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::optional<std::string> holder_process::reply_within(std::chrono::nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (auto line = buffered_line()) return line;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd readable{.fd = from_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno != EINTR) fail(errno, "poll " + program_);
    if (ready == 0) return std::nullopt;
    std::array<char, 4096> chunk{};
    const ssize_t n = ::read(from_, chunk.data(), chunk.size());
    if (n <= 0) throw std::runtime_error(program_ + " ended before it replied");
    buffer_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

std::string holder_process::reply(std::chrono::nanoseconds limit) {
  if (auto line = reply_within(limit)) return *line;
  throw std::runtime_error(program_ + " did not reply in time");
}

std::string holder_process::ask(std::string_view command) {
  tell(command);
  return reply();
}

std::uint64_t holder_process::granted(std::string_view command) {
  tell(command);
  return granted_reply();
}

std::uint64_t holder_process::granted_reply() {
  const std::string answer = reply();
  if (!answer.starts_with("granted ")) throw std::runtime_error(program_ + " was not granted it: " + answer);
  return std::stoull(answer.substr(8));
}

void holder_process::kill() {
  ::kill(pid_, SIGKILL);
  reap();
}

void holder_process::pause() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status)) throw std::runtime_error(program_ + " ended instead of stopping");
}

void holder_process::resume() { ::kill(pid_, SIGCONT); }

int holder_process::exit() {
  tell("exit");
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void holder_process::reap() noexcept {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace holdfast::testing
