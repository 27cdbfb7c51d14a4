#pragma once

#include "errand.hpp"
#include "settings.hpp"
#include "slots.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// The masters of a Redis Cluster: takes each errand to the one that serves its slot, and goes where it is sent from
/// there. A node that does not answer fails what it was asked (errc::unavailable), and the others are asked who serves
/// its slots by now.
///
/// Thread safety: safe. Answers come with nothing locked.
class cluster : public std::enable_shared_from_this<cluster> {
 public:
  cluster(settings where, spi::runtime& engine);

  /// Asks all seeds; one that answers is enough. Blocks at most connect_timeout. errc::unsupported: they are no
  /// cluster; errc::unavailable: there are slots that nobody serves.
  result<void> open();
  /// One word that every process has for this cluster, as long as its node with the least id is known to it.
  const std::string& identity() const noexcept { return identity_; }
  bool sharded() const noexcept { return sharded_; }  ///< Does it have sharded pub/sub?

  void run(errand one, spi::caller from);
  void run(std::vector<errand> all, spi::caller from);  ///< One send per node.
  void ask(std::string_view key, const std::vector<std::string_view>& words, spi::caller from, link::answer told);
  /// Of one node, wherever the keys are.
  void ask_at(const node_address& node, const std::vector<std::string_view>& words, link::answer told);

  std::vector<node_address> masters() const;
  std::optional<node_address> master(slot s) const;
  settings settings_of(const node_address& node) const;

  /// The node does not answer, or does not serve what the map says: reads the map again, soon, once for all who ask.
  void doubt(const node_address& node);
  /// Called whenever the map was read again, changed or not, with nothing locked. Set before open().
  void when_read(std::function<void()> told) { read_ = std::move(told); }

 private:
  struct trip {
    const script* what = nullptr;  // null: `command` is all
    std::vector<std::string> keys;
    std::vector<std::string> arguments;
    std::string command;
    link::answer told;
    unsigned redirections = 0;
  };
  struct stop {  // where a trip is
    node_address node;
    bool asking = false;   // it was sent here by ASK
    bool by_text = false;  // the script with its text
  };
  struct introduction;  // what the seeds say
  using guard = std::unique_lock<std::mutex>;

  std::shared_ptr<link> link_to(const node_address& node);
  void start(trip one, slot about, spi::caller from);
  void go(trip one, stop at, spi::caller from);
  link::answer on_answer(trip one, stop at);
  void arrive(trip one, stop at, result<reply> said);
  void redirect(trip one, const redirection& there);

  void introduce(const node_address& seed, const std::shared_ptr<introduction>& all);
  void read_map(const node_address* first);
  void ask_for_map(std::vector<node_address> candidates);
  void end_reading();

  const settings where_;
  spi::runtime& engine_;
  std::function<void()> read_;
  std::string identity_;
  bool sharded_ = false;

  mutable std::mutex mutex_;
  slot_map slots_;
  std::map<node_address, std::shared_ptr<link>> links_;  // of every node there ever was: somebody may wait for one
  std::set<node_address> doubted_;                       // to be asked last
  bool reading_ = false;
  spi::time_point read_at_{};
};

}  // namespace holdfast::redis
