#pragma once

#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/server_process.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

/// One etcd process of a test: on free ports of this machine, in a directory of its own, gone with this object (and
/// with the test, should that be killed).
///
/// Thread safety: one thread at a time.
class etcd_node {
 public:
  struct ports {
    std::uint16_t client;
    std::uint16_t peer;
  };

  /// `settings`: further words of its command line. Does not start it.
  etcd_node(std::string name, ports at, std::vector<std::string> settings);

  std::uint16_t port() const noexcept { return at_.client; }
  std::string address() const { return "127.0.0.1:" + std::to_string(at_.client); }

  std::string get(const std::string& path) const;  ///< Over HTTP; empty if there is no answer.

  void launch();         ///< Again with the data it had. Returns at once.
  bool answers() const;  ///< Serves requests: there is a leader.
  bool await() {         ///< Until it does; false if it ends by itself.
    return process_.await([this] { return answers(); });
  }
  void kill() { process_.kill(); }
  void pause() { process_.pause(); }
  void resume() { process_.resume(); }
  bool running() const noexcept { return process_.running(); }
  /// Did it open a connection from this port of the machine?
  bool connects_from(std::uint16_t port) const;

 private:
  const std::string name_;
  const ports at_;
  const std::vector<std::string> settings_;
  temporary_directory directory_;
  server_process process_;
};

/// A cluster of one or three.
class etcd_server {
 public:
  enum class size : std::uint8_t { one = 1, three = 3 };
  enum class scheme : std::uint8_t { plain, tls };

  /// Throws std::runtime_error if it does not start.
  explicit etcd_server(size how_many = size::one, std::vector<std::string> settings = {},
                       scheme spoken = scheme::plain);

  std::string url(const std::string& options = {}) const;  ///< `etcd://`, every node, `options` as they are.
  std::string hosts() const;                               ///< h1:p1,h2:p2
  etcd_node& node(std::size_t index) { return *nodes_[index]; }
  std::size_t nodes() const noexcept { return nodes_.size(); }
  std::size_t leader() const;  ///< Its index. Throws std::runtime_error if there is none in time.

  /// Of three: no other member reaches it, and it reaches none. Its clients do.
  void isolate(std::size_t index);
  void reunite();

  void kill();
  void start();  ///< Again, with the data there was.
  void pause();
  void resume();

  /// What `etcdctl WORDS` prints, without the last newline. Throws std::runtime_error if it fails.
  std::string etcdctl(const std::string& words) const;
  /// The words before those: the program and where it connects.
  std::string etcdctl_command() const;

 private:
  void await_answers();

  const scheme spoken_;
  std::vector<std::unique_ptr<cutting_proxy>> ways_;  // to the peer port of each, if there are others
  std::vector<std::unique_ptr<etcd_node>> nodes_;
};

}  // namespace holdfast::testing
