#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace holdfast::testing {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int reap(pid_t pid, int flags) {
  int status = 0;
  pid_t outcome = 0;
  while ((outcome = ::waitpid(pid, &status, flags)) < 0 && errno == EINTR) {
  }
  return outcome == 0 ? -1 : status;
}

/// In the child: only what is allowed between fork and exec.
[[noreturn]] void become(const std::vector<char*>& words, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  const bool good = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!good) throw std::runtime_error("no free port on the loopback interface");
  return ntohs(address.sin_port);
}

redis_server::redis_server(std::vector<std::string> settings, std::string configuration)
    : settings_(std::move(settings)), configuration_(std::move(configuration)) {
  // Another test may take the port before the server does.
  for (int attempt = 0; pid_ < 0; ++attempt) {
    port_ = free_port();
    try {
      start();
    } catch (const std::runtime_error&) {
      if (attempt == 4) throw;
    }
  }
}

redis_server::~redis_server() {
  if (pid_ > 0) kill();
}

std::string redis_server::url(unsigned database) const {
  return "redis://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(database);
}

void redis_server::start() {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--dir",
                                 directory_.path().string(),
                                 "--unixsocket",
                                 socket(),
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--databases",
                                 "32",
                                 "--logfile",
                                 "log"};
  if (!configuration_.empty()) {
    const std::string file = (directory_.path() / "redis.conf").string();
    std::ofstream(file) << configuration_;
    words.insert(words.begin() + 1, file);
  }
  words.insert(words.end(), settings_.begin(), settings_.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(pointers, parent);
  if (pid_ < 0) throw std::runtime_error("fork");
  int ended = -1;
  if (eventually([&] { return (ended = reap(pid_, WNOHANG)) >= 0 || answers(); }) && ended < 0) return;
  if (ended < 0) kill();
  pid_ = -1;
  throw std::runtime_error(WEXITSTATUS(ended) == 127 ? "redis-server is not installed" : "redis-server did not start");
}

void redis_server::kill() {
  ::kill(pid_, SIGKILL);
  reap(pid_, 0);
  pid_ = -1;
}

void redis_server::pause() {
  ::kill(pid_, SIGSTOP);
  reap(pid_, WUNTRACED);
}

void redis_server::resume() { ::kill(pid_, SIGCONT); }

bool redis_server::answers() const {
  const std::string said = command({"PING"});
  return !said.empty();  // also that it wants a password
}

std::string redis_server::command(const std::vector<std::string>& words) const {
  std::string said = reply(words);
  if (said.starts_with('$')) said.erase(0, said.find('\n') + 1);
  return said.substr(0, said.find("\r\n"));
}

std::vector<std::string> redis_server::lines(const std::vector<std::string>& words) const {
  std::istringstream said(reply(words));
  std::vector<std::string> all;
  for (std::string line; std::getline(said, line);) {
    if (line.ends_with('\r')) line.pop_back();
    all.push_back(line);
  }
  return all;
}

std::string redis_server::reply(const std::vector<std::string>& words) const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = loopback(port_);
  std::string said;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    char buffer[65536];
    ssize_t got = 0;
    if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()))
      got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got > 0) said.assign(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return said;
}

}  // namespace holdfast::testing
