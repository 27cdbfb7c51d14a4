#pragma once

#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <zookeeper/zookeeper.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace holdfast::zookeeper {

/// Whether a question also asks to be told of the next change.
enum class watching : std::uint8_t { no, yes };

enum class node_mode : std::uint8_t { persistent, ephemeral, ephemeral_sequential, parent };

/// What happened to a node that was watched.
enum class change : std::uint8_t { created, removed, written, children };

/// The one session of a client: its connection, which the library keeps and mends, and the next session after the
/// server ended one.
///
/// Requests are sent in the order of the calls and answered in that order (ZooKeeper promises it for a session). Every
/// answer comes exactly once: on the library's thread, or, if nothing could be sent, on a thread of the runtime; never
/// inside the call. Nothing may block there.
///
/// Thread safety: safe, but for open() and close(), which their owner calls.
class session {
 public:
  struct listener {
    std::function<void()> connected;                             ///< Also again; generation() tells of a new session.
    std::function<void()> suspended;                             ///< The connection is gone, the session may live.
    std::function<void()> ended;                                 ///< The server has ended it.
    std::function<void(change, const std::string& path)> heard;  ///< A watch fired.
  };
  using on_node = detail::unique_function<void(int code, const std::string& path, const ::Stat&)>;
  using on_done = detail::unique_function<void(int code)>;
  using on_stat = detail::unique_function<void(int code, const ::Stat&)>;
  using on_value = detail::unique_function<void(int code, std::string value, const ::Stat&)>;
  using on_names = detail::unique_function<void(int code, std::vector<std::string> names)>;

  session(settings where, spi::runtime& engine, listener tell);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  result<void> open();  ///< Blocks at most connect_timeout.
  /// Ends the session at the server. Answers under way come as ZCLOSING, on this thread. No listener is called after.
  void close() noexcept;

  void create(const std::string& path, const std::string& value, node_mode mode, on_node done);
  void remove(const std::string& path, int version, on_done done);
  void exists(const std::string& path, watching how, on_stat done);
  void get(const std::string& path, watching how, on_value done);
  void set(const std::string& path, const std::string& value, int version, on_stat done);
  void children(const std::string& path, watching how, on_names done);
  /// In one transaction: makes the ephemeral node `made` and removes `gone`.
  void replace(const std::string& made, const std::string& value, const std::string& gone, on_done done);

  std::uint64_t generation() const noexcept { return generation_; }  ///< Sessions there have been.
  std::uint64_t connection() const noexcept { return connection_; }  ///< Connections there have been.
  void use_persistent_parents() noexcept { containers_ = false; }    ///< The server has no containers.
  bool connected() const noexcept { return connected_; }
  std::int64_t id() const noexcept { return id_; }
  /// As the server granted it.
  std::chrono::nanoseconds timeout() const noexcept { return timeout_.load(); }
  /// When the newest request was sent that the server has answered: the session lasts for timeout() from then at least.
  spi::time_point contact() const noexcept { return spi::time_point(contact_.load()); }
  /// When the leases in it are over: a little before the server may end it, which is timeout() after contact(). For
  /// clocks that run at different speeds, and the time it takes to tell.
  spi::time_point end() const noexcept { return spi::time_point(end_->load()); }
  std::shared_ptr<const std::atomic<spi::time_point::duration>> shared_end() const noexcept { return end_; }
  std::string server() const;  ///< The one we are connected to.

  const settings& where() const noexcept { return where_; }

 private:
  struct trampolines;
  friend struct trampolines;
  /// A request that is not answered yet.
  struct question {
    question() = default;
    question(const question&) = delete;
    question& operator=(const question&) = delete;
    virtual ~question() = default;
    virtual void fail(int code) = 0;
  };

  /// Has `send` called with the handle; if that fails, `done` is told on a thread of the runtime.
  template <class Done, class Send>
  void request(Done done, Send send);
  void forget(question& answered) noexcept;
  bool start();
  void shut(zhandle_t* last) noexcept;
  void reopen(zhandle_t* ended);
  void on_session_event(zhandle_t* from, int state);
  void touch(spi::time_point sent) noexcept;

  const settings where_;
  spi::runtime& engine_;
  const listener tell_;
  ::ACL acl_entries_[2];
  ::ACL_vector acl_;
  std::atomic<bool> containers_;

  mutable std::shared_mutex handle_mutex_;  // guards handle_: held while it is used, not while it is closed
  zhandle_t* handle_ = nullptr;

  std::mutex questions_mutex_;  // guards questions_
  std::unordered_set<question*> questions_;

  std::mutex opening_mutex_;  // guards opened_ and refused_
  std::condition_variable opening_;
  bool opened_ = false;
  bool refused_ = false;

  std::atomic<bool> closed_{false};
  std::atomic<bool> connected_{false};
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::uint64_t> connection_{0};
  std::atomic<std::int64_t> id_{0};
  std::atomic<std::chrono::nanoseconds> timeout_{};
  std::atomic<spi::time_point::duration> contact_{};
  // One for all sessions: what was held in an earlier one is lost before there is another.
  const std::shared_ptr<std::atomic<spi::time_point::duration>> end_ =
      std::make_shared<std::atomic<spi::time_point::duration>>();
};

}  // namespace holdfast::zookeeper
