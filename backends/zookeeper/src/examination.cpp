#include "doctor.hpp"
#include "line.hpp"
#include "names.hpp"
#include "zk_error.hpp"
#include "zookeeper_backend.hpp"

namespace holdfast::zookeeper {

/// Asks the server we are connected to, reads who belongs to the ensemble, and makes and removes a node as a lock
/// would.
void zookeeper_backend::examine(spi::completion<std::vector<finding>> done) {
  struct examination {
    symptoms seen;
    spi::completion<std::vector<finding>> done;
    spi::time_point began;
  };
  const auto all = std::make_shared<examination>();
  all->done = deadlines_->guard(std::move(done));
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
      engine_.post([this, all] {
        all->seen.srvr = ask_server(session_.server(), "srvr");
        all->done(judge_health(all->seen, session_.where()));
      });
    });
  });
}

}  // namespace holdfast::zookeeper
