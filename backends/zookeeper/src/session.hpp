#pragma once

#include "presence.hpp"
#include "settings.hpp"
#include "tenure.hpp"

#include <holdfast/backend.hpp>

#include <zookeeper/zookeeper.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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
  /// Are all these nodes there? A quorum says so, in one transaction: ZNONODE if one of them is not. What is read after
  /// the answer is no older than it.
  void check(const std::vector<std::string>& paths, on_done done);
  /// The same of one node, which must have that version: else ZBADVERSION.
  void check(const std::string& path, int version, on_done done);
  /// In one transaction: makes the ephemeral node `made` and removes `gone`.
  void replace(const std::string& made, const std::string& value, const std::string& gone, on_done done);

  std::uint64_t generation() const noexcept { return generation_; }  ///< Sessions there have been.
  std::uint64_t connection() const noexcept { return connection_; }  ///< Connections there have been.
  void use_persistent_parents() noexcept { containers_ = false; }    ///< The server has no containers.
  bool connected() const noexcept { return connected_; }
  std::int64_t id() const noexcept { return id_; }
  /// As the server granted it.
  std::chrono::nanoseconds timeout() const noexcept { return timeout_.load(); }
  /// When the newest request was sent that a quorum has agreed to.
  spi::time_point agreement() const noexcept { return spi::time_point(agreement_.load()); }
  /// When the leases in it are over: before the leader may end it. Moved by what a quorum agrees to, see tenure.
  spi::time_point end() const { return tenure_.end(); }
  tenure::shared_end shared_end() const { return tenure_.ends(); }

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

  /// Does the server answer a request by itself, or does it need a quorum?
  enum class answered_by : std::uint8_t { server, quorum };
  /// Has `send` called with the handle; if that fails, `done` is told on a thread of the runtime.
  template <class Done, class Send>
  void request(answered_by whom, Done done, Send send);
  void forget(question& answered) noexcept;
  static void on_library_thread();
  static void on_event(zhandle_t* handle, int type, int state, const char* path, void* context);
  bool start();
  void shut(zhandle_t* last) noexcept;
  void reopen();
  void on_session_event(zhandle_t* from, int state);
  void on_connected(zhandle_t* to);
  void on_ended(int state);
  void on_answer(answered_by whom, spi::time_point sent, int code);
  void look_apart();
  void stay_in_touch();

  const settings where_;
  spi::runtime& engine_;
  const listener tell_;
  ::ACL acl_entries_[2];
  ::ACL_vector acl_;
  std::atomic<bool> containers_;

  std::optional<presence> here_;            // from before the first thread of the library until after the last
  std::mutex starting_mutex_;               // held while a session is opened: names of servers are looked up
  mutable std::shared_mutex handle_mutex_;  // guards handle_: held while it is used, not while it is opened or closed
  zhandle_t* handle_ = nullptr;

  static thread_local bool closing_here;
  std::mutex questions_mutex_;  // guards questions_
  std::unordered_set<question*> questions_;

  std::mutex opening_mutex_;  // guards opened_ and refused_
  std::condition_variable opening_;
  bool opened_ = false;
  bool refused_ = false;

  std::atomic<bool> closed_{false};
  std::atomic<bool> connected_{false};
  std::atomic<bool> ended_{false};
  std::atomic<std::uint64_t> generation_{1};
  std::atomic<std::uint64_t> connection_{0};
  std::atomic<std::int64_t> id_{0};
  std::atomic<std::chrono::nanoseconds> timeout_{};
  std::atomic<spi::time_point::duration> agreement_{};
  tenure tenure_;
};

}  // namespace holdfast::zookeeper
