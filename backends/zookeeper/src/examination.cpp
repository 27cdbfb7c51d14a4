#include "doctor.hpp"
#include "line.hpp"
#include "names.hpp"
#include "zk_error.hpp"
#include "zookeeper_backend.hpp"

#include <atomic>
#include <sstream>

namespace holdfast::zookeeper {

struct examination {
  symptoms seen;
  spi::completion<std::vector<finding>> done;
  spi::time_point began;
  std::atomic<std::size_t> unasked = 0;
};

namespace {

std::vector<symptoms::server> named_in(const std::string& servers) {
  std::vector<symptoms::server> all;
  std::istringstream in(servers);
  for (std::string one; std::getline(in, one, ',');) all.push_back({one, {}});
  return all;
}

}  // namespace

/// Asks each server by itself; whoever is last tells.
void zookeeper_backend::ask_servers(const std::shared_ptr<examination>& all) {
  all->unasked = all->seen.servers.size();
  for (std::size_t i = 0; i < all->seen.servers.size(); ++i) {
    engine_.post([this, all, i] {
      auto& one = all->seen.servers[i];
      one.srvr = ask_server(one.address, "srvr");
      if (--all->unasked == 0) all->done(judge_health(all->seen, session_.where()));
    });
  }
}

/// Reads who belongs to the ensemble, makes and removes a node as a lock would, and asks each server how it is.
void zookeeper_backend::examine(spi::completion<std::vector<finding>> done) {
  const auto all = std::make_shared<examination>();
  all->done = deadlines_->guard(std::move(done));
  all->seen.servers = named_in(session_.where().servers);
  all->seen.asked = engine_.options().ttl;
  all->seen.granted = session_.timeout();
  // Parents are containers, and end by themselves.
  const std::string parent = session_.where().root + "/" + std::string(own_directory) + "-doctor";
  for (std::size_t at = parent.find('/', 1);; at = parent.find('/', at + 1)) {
    session_.create(parent.substr(0, at), {}, node_mode::parent, [](int, const std::string&, const ::Stat&) {});
    if (at == parent.npos) break;
  }
  const std::string node = parent + "/" + protection(spi::owner_id::random());
  session_.get("/zookeeper/config", watching::no, [this, all](int code, std::string value, const ::Stat&) {
    if (code == ZOK) all->seen.members = std::move(value);
    all->began = engine_.now();
  });
  session_.create(node, {}, node_mode::ephemeral, [this, all, node](int code, const std::string&, const ::Stat&) {
    if (code == ZOK) all->seen.write = engine_.now() - all->began;
    if (code != ZOK) all->seen.forbidden = failure_of(code, "making " + node).detail;
    session_.remove(node, -1, [this, all, node](int removed) {
      if (removed != ZOK && !all->seen.forbidden) all->seen.forbidden = failure_of(removed, "removing " + node).detail;
      ask_servers(all);
    });
  });
}

}  // namespace holdfast::zookeeper
