#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/memcached_server.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace holdfast::testing {

memcached_server::memcached_server(std::vector<std::string> settings) : settings_(std::move(settings)) {
  // Another test may take the port before the server does.
  for (int attempt = 0; !process_.running(); ++attempt) {
    port_ = free_port();
    try {
      start();
    } catch (const std::runtime_error&) {
      if (attempt == 4) throw;
    }
  }
}

void memcached_server::start() {
  std::vector<std::string> words{"memcached", "-l", "127.0.0.1", "-p", std::to_string(port_), "-U", "0", "-t", "2"};
  // It does not run as root unless told to.
  if (::geteuid() == 0) words.insert(words.end(), {"-u", "root"});
  words.insert(words.end(), settings_.begin(), settings_.end());
  process_.launch(std::move(words), (directory_.path() / "output").string());
  const auto ours = [this] {
    const auto said = ask("stats");
    // One with passwords does not say who it is. Any other may be a server of another test, that took the port.
    return said.starts_with("CLIENT_ERROR") || said.starts_with("STAT pid " + std::to_string(process_.pid()) + "\r\n");
  };
  if (process_.await(ours)) return;
  throw std::runtime_error(process_.missing() ? "memcached is not installed" : "memcached did not start");
}

std::string memcached_server::ask(const std::string& command) const {
  const int fd = dial(port_);
  if (fd < 0) return {};
  const std::string bytes = command + "\r\n";
  char buffer[65536];
  ssize_t got = 0;
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()))
    got = ::recv(fd, buffer, sizeof buffer, 0);
  ::close(fd);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

}  // namespace holdfast::testing
