#pragma once

#include "duplex.hpp"

#include <deque>
#include <map>

namespace holdfast::etcd {

/// Every watch of a client, on one standing stream.
///
/// All are opened at the present: one that began in the past would join the server's catch-up, which runs ten times a
/// second. So whoever opens one is told at which revision it began, and looks for what happened before. The same after
/// the stream broke, or the server ended the watch (compaction): it begins again by itself, and says so.
///
/// Callbacks come on the library's thread and may call back. Thread safety: safe.
class watches : public std::enable_shared_from_this<watches> {
 public:
  using id = std::int64_t;
  struct listener {
    /// It sees everything after this revision, and has seen nothing since whatever it saw last.
    std::function<void(std::int64_t revision)> began;
    std::function<void(const mvccpb::Event& what)> seen;
    /// The server will not tell (no right to it). It is over.
    std::function<void(const failure& why)> refused;
  };
  enum class wanted : std::uint8_t { deletions, everything };

  explicit watches(wire& through) : wire_(through) {}

  id open(const std::string& first, const std::string& end, wanted which, listener tell);
  void close(id which);
  /// The stream is not to be trusted: another.
  void cut();
  /// Waits until nothing of it is under way.
  void shut_down();

  /// How many events the server has sent so far.
  std::uint64_t events() const noexcept { return events_; }

 private:
  using line = duplex<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
  struct watch {
    etcdserverpb::WatchRequest request;
    std::shared_ptr<const listener> tell;
  };

  std::shared_ptr<line> connect();
  void heard(const etcdserverpb::WatchResponse& reply);
  void on_created(const etcdserverpb::WatchResponse& reply);
  void on_ended(const etcdserverpb::WatchResponse& reply);
  void broken(const grpc::Status& status);
  void begin_again();
  std::shared_ptr<const listener> find(id which) const;

  wire& wire_;
  mutable std::mutex mutex_;
  std::map<id, watch> open_;
  std::deque<id> creating_;  // in the order of their answers
  id next_ = 1;
  unsigned failures_ = 0;
  bool beginning_again_ = false;  // the stream broke, and all that are open wait for the next
  bool shut_ = false;
  std::shared_ptr<line> line_;
  std::atomic<std::uint64_t> events_{0};
};

}  // namespace holdfast::etcd
