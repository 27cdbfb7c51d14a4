#pragma once

#include "duplex.hpp"

#include <deque>
#include <map>

namespace holdfast::etcd {

/// Keeps leases alive, all of a client's on one stream.
///
/// Thread safety: safe.
class heartbeat : public std::enable_shared_from_this<heartbeat> {
 public:
  struct term {
    spi::time_point ends;         ///< At the earliest.
    std::uint64_t raft_term = 0;  ///< Of the leader that has kept it alive, as the member that answered knows it.
  };
  /// Of a lease that was kept alive; nothing: it is gone.
  using outcome = std::optional<term>;

  /// `silent`: the member does not answer although the connection stands.
  heartbeat(wire& through, std::function<void()> silent);

  void beat(std::int64_t lease, spi::completion<outcome> done);
  /// A member does not answer others: what was asked of it is asked of another.
  void cut_member(std::size_t index);
  /// Waits until nothing of it is under way. What was asked is not answered any more.
  void close();

 private:
  using line = duplex<etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseKeepAliveResponse>;
  struct asked {
    spi::time_point sent;
    spi::completion<outcome> done;
    spi::runtime::timer timer = 0;
    line::number on = 0;
  };

  std::shared_ptr<line> connect();
  void heard(line::number on, const etcdserverpb::LeaseKeepAliveResponse& reply);
  void broken(line::number which, const grpc::Status& status);
  void overdue(spi::time_point asked_at);
  void distrust(line::number on);
  std::shared_ptr<line> present();

  wire& wire_;
  const std::function<void()> silent_;
  std::mutex mutex_;
  std::map<std::int64_t, std::deque<asked>> waiting_;  // answered in order, for each lease and stream
  std::shared_ptr<line> line_;
};

}  // namespace holdfast::etcd
