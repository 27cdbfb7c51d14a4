#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/redis_cluster.hpp>

#include <set>
#include <sstream>
#include <stdexcept>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t slots = 16384;

// On a busy machine a node may stand still for a second, and must not be taken for dead.
constexpr auto patience = 15s;

std::unique_ptr<redis_server> start_node(std::string& bus_port) {
  // The second port, for the cluster's own talk, may be taken by another test meanwhile.
  for (int attempt = 0;; ++attempt) {
    bus_port = std::to_string(free_port());
    try {
      return std::make_unique<redis_server>(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000",
          "--cluster-port", bus_port, "--cluster-replica-validity-factor", "0", "--repl-diskless-sync", "yes",
          "--repl-diskless-sync-delay", "0"});
    } catch (const std::runtime_error&) {
      if (attempt == 4) throw;
    }
  }
}

/// Of a line of CLUSTER NODES: the seventh word.
std::string epoch_in(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  for (int i = 0; i < 7; ++i) words >> word;
  return ' ' + word;
}

void expect_ok(const std::string& said) {
  if (said != "+OK") throw std::runtime_error("redis cluster: " + said);
}

}  // namespace

redis_cluster::redis_cluster(std::size_t masters, std::size_t replicas_each) : masters_(masters) {
  std::vector<std::string> bus_ports(masters * (1 + replicas_each));
  for (std::size_t i = 0; i < bus_ports.size(); ++i) {
    nodes_.push_back(start_node(bus_ports[i]));
    ids_.push_back(nodes_[i]->command({"CLUSTER", "MYID"}));
    expect_ok(nodes_[i]->command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}));
  }
  for (std::size_t i = 0; i < masters; ++i) {
    expect_ok(nodes_[i]->command({"CLUSTER", "ADDSLOTSRANGE", std::to_string(slots * i / masters),
                                  std::to_string(slots * (i + 1) / masters - 1)}));
  }
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    expect_ok(nodes_[i]->command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0]->port()), bus_ports[0]}));
  }
  for (std::size_t i = masters; i < nodes_.size(); ++i) {
    if (!eventually([&] { return nodes_[i]->command({"CLUSTER", "REPLICATE", ids_[i % masters]}) == "+OK"; }))
      throw std::runtime_error("redis cluster: a replica does not find its master");
  }
  wait_until_whole();
  notice_death_after(patience);
}

std::string redis_cluster::url(const std::string& options) const {
  std::string all;
  for (std::size_t i = 0; i < masters_; ++i)
    all += (all.empty() ? "redis+cluster://127.0.0.1:" : ",127.0.0.1:") + std::to_string(nodes_[i]->port());
  return all + (options.empty() ? "" : "?" + options);
}

bool redis_cluster::whole() const {
  std::set<std::string> all_masters;
  for (const auto& node : nodes_) {
    if (node->command({"CLUSTER", "INFO"}) != "cluster_state:ok") return false;
    if (node->reply({"INFO", "replication"}).find("master_link_status:down") != std::string::npos) return false;
    // Every node knows every other, none is in doubt, and all agree on who is a master: one that comes back does not
    // know at first that it is none any more. And on their epochs, or two moves of slots might contradict each other.
    const std::string known = node->reply({"CLUSTER", "NODES"});
    if (known.find("fail") != known.npos || known.find("handshake") != known.npos) return false;
    std::string masters;
    for (const auto& id : ids_) {
      const auto at = known.find("\n" + id);
      if (at == known.npos) return false;
      const std::string line = known.substr(at + 1, known.find('\n', at + 1) - at - 1);
      if (line.find("master") != line.npos) masters += id + epoch_in(line) + ' ';
    }
    all_masters.insert(masters);
  }
  return all_masters.size() == 1;
}

void redis_cluster::wait_until_whole() const {
  if (!eventually([&] { return whole(); })) throw std::runtime_error("redis cluster: it does not come up");
}

std::size_t redis_cluster::master_of(const std::string& key) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i]->command({"EXISTS", key}).starts_with(':')) return i;
  throw std::runtime_error("redis cluster: nobody serves '" + key + "'");
}

std::string redis_cluster::command(const std::string& key, const std::vector<std::string>& words) const {
  return nodes_[master_of(key)]->command(words);
}

std::string redis_cluster::slot_of(const std::string& key) const {
  return nodes_[0]->command({"CLUSTER", "KEYSLOT", key}).substr(1);
}

void redis_cluster::begin_move(const std::string& key, std::size_t to) {
  wait_until_whole();
  moving_from_ = master_of(key);
  expect_ok(nodes_[to]->command({"CLUSTER", "SETSLOT", slot_of(key), "IMPORTING", ids_[moving_from_]}));
  expect_ok(nodes_[moving_from_]->command({"CLUSTER", "SETSLOT", slot_of(key), "MIGRATING", ids_[to]}));
}

void redis_cluster::carry_keys(const std::string& key, std::size_t to) {
  for (;;) {
    // One bulk string in an array of one.
    std::string said = nodes_[moving_from_]->reply({"CLUSTER", "GETKEYSINSLOT", slot_of(key), "1"});
    if (!said.starts_with("*1\r\n$")) return;
    said.erase(0, said.find('\n', 5) + 1);
    said.resize(said.size() - 2);
    const std::string moved =
        nodes_[moving_from_]->command({"MIGRATE", "127.0.0.1", std::to_string(nodes_[to]->port()), said, "0", "5000"});
    if (moved != "+NOKEY") expect_ok(moved);
  }
}

void redis_cluster::end_move(const std::string& key, std::size_t to) {
  const std::string slot = slot_of(key);
  expect_ok(nodes_[to]->command({"CLUSTER", "SETSLOT", slot, "NODE", ids_[to]}));
  expect_ok(nodes_[moving_from_]->command({"CLUSTER", "SETSLOT", slot, "NODE", ids_[to]}));
}

void redis_cluster::notice_death_after(std::chrono::milliseconds time) {
  for (auto& node : nodes_) node->command({"CONFIG", "SET", "cluster-node-timeout", std::to_string(time.count())});
}

void redis_cluster::kill_all() {
  for (auto& node : nodes_)
    if (node->running()) node->kill();
}

void redis_cluster::start_all() {
  for (auto& node : nodes_)
    if (!node->running()) node->start();
  wait_until_whole();
  notice_death_after(patience);
}

void redis_cluster::pause_all() {
  for (auto& node : nodes_) node->pause();
}

void redis_cluster::resume_all() {
  for (auto& node : nodes_) node->resume();
}

void redis_cluster::flush() {
  for (auto& node : nodes_) node->command({"FLUSHALL"});
}

}  // namespace holdfast::testing
