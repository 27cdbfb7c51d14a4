#pragma once

#include "cluster.hpp"
#include "ears.hpp"
#include "hearing.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::redis {

/// Hears a cluster: with one connection to each node that serves the slot of something we listen to, and one, to any
/// node, for what every node repeats. What is heard follows its slot, and leaves a node that is gone.
///
/// Thread safety: safe.
class cluster_ears final : public hearing, public std::enable_shared_from_this<cluster_ears> {
 public:
  cluster_ears(std::shared_ptr<cluster> nodes, spi::runtime& engine, callbacks tell);

  void listen(const subject& what, ready done) override;
  bool hears(const subject& what) const override;
  void ignore(const subject& what) override;

  void follow();  ///< The map was read: moves what is heard where it does not belong any more.

 private:
  struct interest {
    node_address node;
    bool adrift = false;  // the node does not serve it
  };
  struct move {
    std::shared_ptr<ears> from;  // null: it was not heard there
    std::shared_ptr<ears> to;
    subject what;
  };
  using guard = std::unique_lock<std::mutex>;

  node_address place_of(const subject& what);               // with mutex_ held
  std::shared_ptr<ears> ears_at(const node_address& node);  // with mutex_ held
  std::vector<move> moves();                                // with mutex_ held
  void make(const std::vector<move>& all);
  void on_trouble(const node_address& node);
  void on_moved(const node_address& node, const subject& what);
  void one_resumed();

  const std::shared_ptr<cluster> nodes_;
  spi::runtime& engine_;
  const callbacks tell_;

  mutable std::mutex mutex_;
  std::map<node_address, std::shared_ptr<ears>> ears_;
  std::map<subject, interest> interests_;
  node_address anchor_;       // where we hear what every node repeats; no port: not yet chosen
  std::size_t resuming_ = 0;  // moves under way: when the last has ended, something may have been missed
};

}  // namespace holdfast::redis
