#pragma once

#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::testing {

/// A ZooKeeper server of one test, alone or a member of an ensemble: on free ports of this machine, in a directory of
/// its own, gone with this object (and with the test, should that be killed). What it writes is not forced to disk.
///
/// Sessions last from two seconds to a minute: a busy machine may stand still for half of one.
///
/// Thread safety: one thread at a time.
class zookeeper_server {
 public:
  /// `settings`: further lines of its configuration. Throws std::runtime_error if it does not start.
  explicit zookeeper_server(std::vector<std::string> settings = {});
  /// Member `id` of an ensemble, whose lines `server.N=` are in `settings`; not waited for: it needs the others. It
  /// reaches them by the `detour` (see shims/detour.cpp).
  zookeeper_server(std::uint16_t port, unsigned id, std::vector<std::string> settings, std::string detour);

  std::uint16_t port() const noexcept { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(std::string_view root = {}) const { return "zk://" + address() + std::string(root); }

  void kill() { process_.kill(); }
  void start();       ///< Again, with what it had written, on the same port. Waits until it serves.
  void start_only();  ///< The same without waiting.
  void pause() { process_.pause(); }
  void resume() { process_.resume(); }
  bool running() const noexcept { return process_.running(); }

  /// What it answers to a word of four letters; empty: nothing.
  std::string ask(std::string_view word) const;
  bool serves() const;  ///< It is up, and has a quorum if it needs one.
  bool leads() const;

  /// Ends a session as if it had expired, at once. `id`: as `cons` or `dump` show it, in hexadecimal digits after 0x.
  void end_session(std::uint64_t id) const;
  std::vector<std::uint64_t> sessions() const;  ///< Those there are.

 private:
  void launch();

  const std::vector<std::string> settings_;
  const std::string detour_;
  temporary_directory directory_;
  std::uint16_t port_ = 0;
  unsigned id_ = 0;
  server_process process_;
};

/// Three servers, which speak with each other through proxies: any of them can be cut off from the others, and still
/// be reached by clients.
class zookeeper_ensemble {
 public:
  /// For how long a member goes on without hearing from the leader, in ticks (of 200 ms).
  explicit zookeeper_ensemble(unsigned patience = 10);

  std::string url(std::string_view root = {}) const;
  zookeeper_server& operator[](std::size_t i) const { return *members_[i]; }
  std::size_t size() const noexcept { return members_.size(); }
  zookeeper_server& leader() const;    ///< Waits for one.
  zookeeper_server& follower() const;  ///< One of them.

  /// Nothing passes between it and the others any more, and nobody is told.
  void isolate(const zookeeper_server& member);
  void reunite();

 private:
  /// The way from one member to a port of another.
  struct link {
    std::size_t from;
    std::size_t to;
    std::unique_ptr<cutting_proxy> proxy;
  };
  bool launch(unsigned patience);
  std::string way(std::size_t from, std::size_t to, std::uint16_t port);

  std::vector<link> links_;
  std::vector<std::unique_ptr<zookeeper_server>> members_;
};

/// `host:port` of a server for tests that do no harm to it and keep below a root of their own: that of this run of
/// ctest (see zookeeper_keeper), or else one of this process.
std::string shared_zookeeper();

}  // namespace holdfast::testing
