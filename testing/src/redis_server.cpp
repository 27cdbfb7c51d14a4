#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace holdfast::testing {

redis_server::redis_server(std::vector<std::string> settings, std::string configuration)
    : settings_(std::move(settings)), configuration_(std::move(configuration)) {
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
  process_.launch(std::move(words), (directory_.path() / "output").string());
  if (process_.await([this] { return answers(); })) return;
  throw std::runtime_error(process_.missing() ? "redis-server is not installed" : "redis-server did not start");
}

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
  const int fd = dial(port_);
  if (fd < 0) return {};
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  char buffer[65536];
  ssize_t got = 0;
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()))
    got = ::recv(fd, buffer, sizeof buffer, 0);
  ::close(fd);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : std::string();
}

}  // namespace holdfast::testing
