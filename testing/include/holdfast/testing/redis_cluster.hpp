#pragma once

#include <holdfast/testing/redis_server.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::testing {

/// A Redis Cluster on this machine: masters that share the slots evenly, each with as many replicas as asked for. It
/// takes seconds to start: one per test program.
///
/// Thread safety: one thread at a time.
class redis_cluster {
 public:
  /// Throws std::runtime_error if it does not come up.
  explicit redis_cluster(std::size_t masters = 3, std::size_t replicas_each = 0);

  /// All masters at first are its seeds.
  std::string url(const std::string& options = {}) const;
  std::size_t size() const noexcept { return nodes_.size(); }
  redis_server& node(std::size_t index) { return *nodes_[index]; }

  /// Which node serves the key, of those that are alive.
  std::size_t master_of(const std::string& key) const;
  /// One command at the master of the key.
  std::string command(const std::string& key, const std::vector<std::string>& words) const;

  /// Moves the key's slot from its master to another: it begins (ASK), its keys go over, it ends (MOVED).
  void begin_move(const std::string& key, std::size_t to);
  void carry_keys(const std::string& key, std::size_t to);
  void end_move(const std::string& key, std::size_t to);

  /// How long a node is silent before the others take it for dead, and its replica takes over: long, unless it is set,
  /// until start_all().
  void notice_death_after(std::chrono::milliseconds time);

  void kill_all();
  void start_all();  ///< Those that are dead, empty; and waits until the cluster is whole.
  void pause_all();
  void resume_all();
  void flush();  ///< Forgets every key.

 private:
  void wait_until_whole() const;
  bool whole() const;
  std::string slot_of(const std::string& key) const;

  const std::size_t masters_;
  std::vector<std::unique_ptr<redis_server>> nodes_;  // the masters first
  std::vector<std::string> ids_;
  std::size_t moving_from_ = 0;
};

}  // namespace holdfast::testing
