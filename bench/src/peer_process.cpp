#include "peer_process.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace holdfast::bench {

namespace {

// More than a peer has to say about a million waits.
constexpr std::size_t longest_line = 32u << 20;
constexpr std::chrono::seconds time_to_end{5};

void become(int line, const std::string& command, const std::vector<std::string>& arguments) {
  if (::dup2(line, STDIN_FILENO) < 0 || ::dup2(line, STDOUT_FILENO) < 0)
    throw std::system_error(errno, std::generic_category(), "dup2");
  const std::string script = "exec " + command + " \"$@\"";
  std::vector<const char*> argv{"sh", "-c", script.c_str(), "peer"};
  for (const auto& word : arguments) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  ::execv("/bin/sh", const_cast<char* const*>(argv.data()));
  throw std::system_error(errno, std::generic_category(), "/bin/sh");
}

}  // namespace

peer_process::peer_process(const std::string& command, const std::vector<std::string>& arguments) {
  // A socket instead of two pipes: writing to one that is gone need not raise a signal.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  line_ = ends[0];
  try {
    process_.start(note_[0], [&] { become(ends[1], command, arguments); });
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  ::close(ends[1]);
}

peer_process::~peer_process() { ::close(line_); }

// A peer that is gone is noticed by who listens next.
void peer_process::tell(const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = ::send(line_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
}

std::string peer_process::hear(std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    if (const auto end = heard_.find('\n', searched_); end != heard_.npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    searched_ = heard_.size();
    if (searched_ > longest_line) throw measurement_error(exit_failed, "does not end its line");
    if (interruption::happened()) throw measurement_error(exit_interrupted, "interrupted");
    if (std::chrono::steady_clock::now() > deadline) throw measurement_error(exit_failed, "does not answer");
    receive();
  }
}

void peer_process::receive() {
  pollfd ready{line_, POLLIN, 0};
  if (::poll(&ready, 1, 50) <= 0) return;
  char text[65536];
  const auto n = ::recv(line_, text, sizeof text, 0);
  if (n > 0) heard_.append(text, static_cast<std::size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR)) report_end();
}

void peer_process::report_end() {
  process_.wait(note_[0], time_to_end, [] {});
  throw measurement_error(exit_failed, "ended before it answered");
}

void peer_process::dismiss(std::chrono::nanoseconds limit) {
  ::shutdown(line_, SHUT_WR);
  process_.wait(note_[0], limit, [] {});
}

}  // namespace holdfast::bench
