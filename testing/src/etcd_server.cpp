#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/loopback.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace holdfast::testing {

namespace {

std::string output_of(const std::string& command, int& status) {
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::string all;
  std::array<char, 4096> part{};
  while (const auto got = std::fread(part.data(), 1, part.size(), pipe)) all.append(part.data(), got);
  status = ::pclose(pipe);
  if (all.ends_with('\n')) all.pop_back();
  return all;
}

}  // namespace

etcd_node::etcd_node(std::string name, ports at, std::vector<std::string> settings)
    : name_(std::move(name)), at_(at), settings_(std::move(settings)) {}

void etcd_node::launch() {
  std::vector<std::string> words{"etcd",
                                 "--name",
                                 name_,
                                 "--data-dir",
                                 (directory_.path() / "data").string(),
                                 "--unsafe-no-fsync",
                                 "--heartbeat-interval",
                                 "50",
                                 "--election-timeout",
                                 "250",
                                 "--logger",
                                 "zap",
                                 "--log-level",
                                 "error"};
  words.insert(words.end(), settings_.begin(), settings_.end());
  process_.launch(std::move(words), (directory_.path() / "log").string());
}

std::string etcd_node::get(const std::string& path) const {
  const int fd = dial(at_.client);
  std::string said;
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  if (fd >= 0 && ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 8192> part{};
    for (ssize_t got = 0; (got = ::recv(fd, part.data(), part.size(), 0)) > 0;)
      said.append(part.data(), static_cast<std::size_t>(got));
  }
  if (fd >= 0) ::close(fd);
  return said;
}

bool etcd_node::answers() const {
  const bool plain = settings_.size() < 2 || settings_[1].starts_with("http:");
  if (plain) return get("/health").find("\"true\"") != std::string::npos;
  // With TLS it must do that somebody listens.
  const int fd = dial(at_.client);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

bool etcd_node::connects_from(std::uint16_t port) const {
  const std::string process = "/proc/" + std::to_string(process_.pid());
  std::array<char, 16> wanted{};
  std::snprintf(wanted.data(), wanted.size(), ":%04X", static_cast<unsigned>(port));
  std::ifstream table(process + "/net/tcp");
  std::string socket;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
    if (local.ends_with(wanted.data())) socket = "socket:[" + inode + "]";
  }
  std::error_code gone;  // a descriptor may be closed meanwhile
  for (const auto& one : std::filesystem::directory_iterator(process + "/fd", gone))
    if (!socket.empty() && std::filesystem::read_symlink(one.path(), gone) == socket) return true;
  return false;
}

etcd_server::etcd_server(size how_many, std::vector<std::string> settings, scheme spoken) : spoken_(spoken) {
  const std::string protocol = spoken == scheme::plain ? "http://127.0.0.1:" : "https://127.0.0.1:";
  // Another test may take a port before the server does.
  for (int attempt = 0;; ++attempt) {
    std::vector<etcd_node::ports> ports;
    std::string cluster;
    std::vector<std::string> peers;
    nodes_.clear();
    ways_.clear();
    for (int i = 0; i < static_cast<int>(how_many); ++i) {
      ports.push_back({free_port(), free_port()});
      if (how_many != size::one) ways_.push_back(std::make_unique<cutting_proxy>(ports.back().peer));
      const auto reached_by = how_many == size::one ? ports.back().peer : ways_.back()->port();
      peers.push_back("http://127.0.0.1:" + std::to_string(reached_by));
      cluster += (i == 0 ? "n" : ",n") + std::to_string(i) + "=" + peers.back();
    }
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::string client = protocol + std::to_string(ports[i].client);
      const std::string peer = "http://127.0.0.1:" + std::to_string(ports[i].peer);
      std::vector<std::string> words{"--listen-client-urls", client, "--advertise-client-urls",       client,
                                     "--listen-peer-urls",   peer,   "--initial-advertise-peer-urls", peers[i],
                                     "--initial-cluster",    cluster};
      // As etcd has it by default: a busy machine must not depose its leaders one after the other.
      if (how_many != size::one)
        words.insert(words.end(), {"--heartbeat-interval", "100", "--election-timeout", "1000"});
      words.insert(words.end(), settings.begin(), settings.end());
      nodes_.push_back(std::make_unique<etcd_node>("n" + std::to_string(i), ports[i], std::move(words)));
    }
    try {
      start();
      return;
    } catch (const std::runtime_error&) {
      if (attempt == 4) throw;
    }
  }
}

std::string etcd_server::hosts() const {
  std::string all;
  for (const auto& one : nodes_) all += (all.empty() ? "" : ",") + one->address();
  return all;
}

std::string etcd_server::url(const std::string& options) const {
  return (spoken_ == scheme::plain ? "etcd://" : "etcds://") + hosts() + options;
}

void etcd_server::start() {
  for (auto& one : nodes_)
    if (!one->running()) one->launch();
  await_answers();
}

void etcd_server::await_answers() {
  for (auto& one : nodes_)
    if (!one->await()) throw std::runtime_error("etcd did not start; is etcd-server installed?");
}

void etcd_server::isolate(std::size_t index) {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    ways_[i]->hang_from(
        [&alone = *nodes_[index], all = i == index](std::uint16_t port) { return all || alone.connects_from(port); });
  }
}

void etcd_server::reunite() {
  for (const auto& one : ways_) one->pass();
}

void etcd_server::kill() {
  for (auto& one : nodes_)
    if (one->running()) one->kill();
}

void etcd_server::pause() {
  for (auto& one : nodes_) one->pause();
}

void etcd_server::resume() {
  for (auto& one : nodes_) one->resume();
}

std::string etcd_server::etcdctl_command() const { return "ETCDCTL_API=3 etcdctl --endpoints=" + hosts(); }

std::string etcd_server::etcdctl(const std::string& words) const {
  int status = 0;
  auto said = output_of(etcdctl_command() + " " + words + " 2>&1", status);
  if (status != 0) throw std::runtime_error("etcdctl " + words + ": " + said);
  return said;
}

std::size_t etcd_server::leader() const {
  std::size_t found = nodes_.size();
  const auto leads = [&](std::size_t i) {
    if (!nodes_[i]->running()) return false;
    int status = 0;
    // endpoint, id, version, db size, is leader, ...
    const auto said =
        output_of("ETCDCTL_API=3 etcdctl --dial-timeout=1s --command-timeout=1s --endpoints=" + nodes_[i]->address() +
                      " endpoint status -w simple 2>/dev/null",
                  status);
    std::size_t at = 0;
    for (int comma = 0; comma < 4 && at != said.npos; ++comma) at = said.find(',', at + 1);
    return at != said.npos && said.substr(at).starts_with(", true");
  };
  const bool good = eventually([&] {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (leads(i)) return found = i, true;
    return false;
  });
  if (!good) throw std::runtime_error("the etcd cluster has no leader");
  return found;
}

}  // namespace holdfast::testing
