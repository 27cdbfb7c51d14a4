#pragma once

#include "duplex.hpp"

#include <deque>
#include <map>
#include <optional>

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
  void cut_member(std::size_t index);  ///< The same, if it is with that member.
  /// Waits until nothing of it is under way.
  void shut_down();

  /// How many events the server has sent so far.
  std::uint64_t events() const noexcept { return events_; }

 private:
  using line = duplex<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
  struct watch {
    etcdserverpb::WatchRequest request;
    std::shared_ptr<const listener> tell;
    std::int64_t number = 0;  // on the stream, never the same twice; 0: it is on none
    line::number on = 0;
  };
  struct creation {
    line::number on;
    std::int64_t number;
  };

  std::shared_ptr<line> connect();
  std::shared_ptr<line> present() const;
  void heard(line::number on, const etcdserverpb::WatchResponse& reply);
  void on_created(line::number on, const etcdserverpb::WatchResponse& reply);
  void on_refused(id which, const etcdserverpb::WatchResponse& reply);
  void on_ended(const etcdserverpb::WatchResponse& reply);
  void broken(line::number which, const grpc::Status& status);
  void begin_again();
  std::shared_ptr<const listener> find(std::int64_t number) const;

  // Behind the lock.
  void create(id which, watch& what);
  void take_off(watch& what);
  void begin_again_soon();
  bool log_in_again();
  std::optional<std::int64_t> created(line::number on, std::int64_t number);

  wire& wire_;
  mutable std::mutex mutex_;
  std::map<id, watch> open_;
  std::map<std::int64_t, id> numbers_;  // of those that are on a stream
  std::deque<creation> creating_;       // in the order of their answers
  id next_ = 1;
  std::int64_t next_number_ = 1;
  unsigned failures_ = 0;
  bool beginning_again_ = false;  // those that are on no stream wait for a moment
  bool logging_in_ = false;
  std::optional<spi::time_point> logged_in_;  // because a watch was refused
  bool shut_ = false;
  std::shared_ptr<line> line_;
  std::atomic<std::uint64_t> events_{0};
};

}  // namespace holdfast::etcd
