#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace holdfast::testing {

namespace {

bool listens(std::uint16_t port) {
  const int fd = dial(port);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

/// What comes until the other end closes, or for a while.
std::string converse(std::uint16_t port, std::string_view request) {
  const int fd = dial(port);
  if (fd < 0) return {};
  std::string said;
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
    std::array<char, 65536> buffer;
    ssize_t got = 0;
    while ((got = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0)
      said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(fd);
  return said;
}

void put(std::string& out, std::uint64_t number, int bytes) {
  while (bytes-- > 0) out += static_cast<char>(number >> (8 * bytes));
}

/// What the server wants to hear from who takes up a session: the first sixteen bytes of java.util.Random, seeded with
/// its number.
std::string password_of(std::uint64_t id) {
  constexpr std::uint64_t secret = 0xB3415C00;
  constexpr std::uint64_t mask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t state = ((id ^ secret) ^ 0x5DEECE66D) & mask;
  std::string bytes;
  while (bytes.size() < 16) {
    state = (state * 0x5DEECE66D + 0xB) & mask;
    auto word = static_cast<std::uint32_t>(state >> 16);
    for (int i = 0; i < 4; ++i, word >>= 8) bytes += static_cast<char>(word);
  }
  return bytes;
}

}  // namespace

zookeeper_server::zookeeper_server(std::vector<std::string> settings) : settings_(std::move(settings)) {
  // Another test may take the port before the server does.
  for (int attempt = 0; !process_.running(); ++attempt) {
    port_ = free_port();
    try {
      start();
    } catch (const std::runtime_error&) {
      if (attempt == 2) throw;
    }
  }
}

zookeeper_server::zookeeper_server(std::uint16_t port, unsigned id, std::vector<std::string> settings,
                                   std::string detour)
    : settings_(std::move(settings)), detour_(std::move(detour)), port_(port), id_(id) {
  start_only();
}

void zookeeper_server::launch() {
  const std::string directory = directory_.path().string();
  std::filesystem::create_directories(directory_.path() / "data");
  std::ofstream configuration(directory + "/zoo.cfg");
  configuration << "tickTime=200\nminSessionTimeout=2000\nmaxSessionTimeout=60000\ndataDir=" << directory
                << "/data\nclientPort=" << port_
                << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
                   "maxClientCnxns=0\nforceSync=no\npreAllocSize=4096\n";
  for (const auto& line : settings_) configuration << line << '\n';
  configuration.close();
  std::ofstream(directory + "/log4j.properties")
      << "log4j.rootLogger=WARN, file\nlog4j.appender.file=org.apache.log4j.FileAppender\nlog4j.appender.file.File="
      << directory
      << "/log\nlog4j.appender.file.layout=org.apache.log4j.PatternLayout\n"
         "log4j.appender.file.layout.ConversionPattern=%d %p %c %m%n\n";
  if (id_ != 0) std::ofstream(directory + "/data/myid") << id_;
  const std::string jars = "/usr/share/java/";
  std::vector<std::string> words{
      "java",
      "-Xms32m",
      "-Xmx192m",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-Dzookeeper.jmx.log4j.disable=true",
      "-cp",
      directory + ":" + jars + "zookeeper.jar:" + jars + "slf4j-log4j12.jar:" + jars + "log4j-1.2.jar",
      id_ == 0 ? "org.apache.zookeeper.server.ZooKeeperServerMain"
               : "org.apache.zookeeper.server.quorum.QuorumPeerMain",
      directory + "/zoo.cfg"};
  if (!detour_.empty())
    words.insert(words.begin(),
                 {"env", "LD_PRELOAD=" + beside_this_program("detour.so"), "HOLDFAST_DETOUR=" + detour_});
  process_.launch(std::move(words), directory + "/output");
}

void zookeeper_server::start_only() { launch(); }

void zookeeper_server::start() {
  launch();
  if (process_.await([this] { return serves(); })) return;
  throw std::runtime_error(process_.missing() ? "java is not installed"
                                              : "ZooKeeper did not start (is libzookeeper-java installed?)");
}

std::string zookeeper_server::ask(std::string_view word) const { return converse(port_, word); }

bool zookeeper_server::serves() const { return ask("srvr").find("Mode:") != std::string::npos; }

bool zookeeper_server::leads() const { return ask("srvr").find("Mode: leader") != std::string::npos; }

std::vector<std::uint64_t> zookeeper_server::sessions() const {
  std::vector<std::uint64_t> all;
  const std::string said = ask("cons");
  for (std::size_t at = said.find("sid=0x"); at != said.npos; at = said.find("sid=0x", at + 1))
    all.push_back(std::stoull(said.substr(at + 6, 16), nullptr, 16));
  return all;
}

void zookeeper_server::end_session(std::uint64_t id) const {
  std::string connect;
  put(connect, 0, 4);      // protocol
  put(connect, 0, 8);      // the last change seen
  put(connect, 10000, 4);  // timeout
  put(connect, id, 8);
  put(connect, 16, 4);
  connect += password_of(id);
  std::string end;
  put(end, 1, 4);                                // the request's number
  put(end, static_cast<std::uint32_t>(-11), 4);  // closeSession
  std::string both;
  put(both, connect.size(), 4);
  both += connect;
  put(both, end.size(), 4);
  both += end;
  std::ostringstream name;
  name << "0x" << std::hex << id;
  // Its client may take it back before it is ended.
  const bool ended = eventually([&] {
    converse(port_, both);
    const std::string all = ask("dump");
    // Connections are in it, too, and may outlast their session.
    return !all.empty() && all.substr(0, all.find("Connections dump")).find(name.str()) == std::string::npos;
  });
  if (!ended) throw std::runtime_error("session " + name.str() + " does not end");
}

std::string zookeeper_ensemble::way(std::size_t from, std::size_t to, std::uint16_t port) {
  links_.push_back({from, to, std::make_unique<cutting_proxy>(port)});
  return std::to_string(port) + "=" + std::to_string(links_.back().proxy->port()) + ",";
}

zookeeper_ensemble::zookeeper_ensemble(unsigned patience) {
  // Another test may take a port before its member does.
  for (int attempt = 0; !launch(patience); ++attempt) {
    if (attempt == 2) throw std::runtime_error("a member of the ensemble did not start");
    members_.clear();
    links_.clear();
  }
}

bool zookeeper_ensemble::launch(unsigned patience) {
  struct ports {
    std::uint16_t clients = free_port();
    std::uint16_t quorum = free_port();
    std::uint16_t election = free_port();
  };
  const std::array<ports, 3> all;
  std::vector<std::string> lines{"initLimit=20", "syncLimit=" + std::to_string(patience)};
  for (std::size_t i = 0; i < all.size(); ++i)
    lines.push_back("server." + std::to_string(i + 1) + "=127.0.0.1:" + std::to_string(all[i].quorum) + ":" +
                    std::to_string(all[i].election));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string detour;
    for (std::size_t to = 0; to < all.size(); ++to)
      if (to != i) detour += way(i, to, all[to].quorum) + way(i, to, all[to].election);
    members_.push_back(std::make_unique<zookeeper_server>(all[i].clients, static_cast<unsigned>(i + 1), lines, detour));
    // Before the next: what a proxy takes and cannot pass on is tried again only after a pause, longer each time.
    if (!eventually([&] { return listens(all[i].election); })) return false;
  }
  return std::all_of(members_.begin(), members_.end(),
                     [](const auto& one) { return eventually([&] { return one->serves(); }); });
}

void zookeeper_ensemble::isolate(const zookeeper_server& member) {
  for (const auto& one : links_)
    if (members_[one.from].get() == &member || members_[one.to].get() == &member) one.proxy->hang();
}

void zookeeper_ensemble::reunite() {
  for (const auto& one : links_) one.proxy->pass();
}

std::string zookeeper_ensemble::url(std::string_view root) const {
  std::string all;
  for (const auto& one : members_) all += (all.empty() ? "zk://" : ",") + one->address();
  return all + std::string(root);
}

zookeeper_server& zookeeper_ensemble::leader() const {
  zookeeper_server* found = nullptr;
  const bool there = eventually([&] {
    for (const auto& one : members_)
      if (one->running() && one->leads()) found = one.get();
    return found != nullptr;
  });
  if (!there) throw std::runtime_error("the ensemble has no leader");
  return *found;
}

zookeeper_server& zookeeper_ensemble::follower() const {
  const zookeeper_server& head = leader();
  for (const auto& one : members_)
    if (one.get() != &head && one->running()) return *one;
  throw std::runtime_error("the ensemble has no follower");
}

}  // namespace holdfast::testing
