#include "cluster.hpp"
#include "redis_error.hpp"

#include <algorithm>
#include <condition_variable>

namespace holdfast::redis {

/// The first seed that can tell has told; until then, why those before could not.
struct cluster::introduction {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t left = 0;
  std::optional<slot_map> slots;
  std::string least_id;
  bool sharded = false;
  std::optional<failure> why;

  void fail(failure because) {
    const std::lock_guard lock(mutex);
    // That nobody is there says less than what somebody says.
    if (!why || why->code == errc::unavailable) why = std::move(because);
    --left;
    changed.notify_all();
  }
};

namespace {

/// Of CLUSTER NODES: one line per node, which begins with its id and has its flags third.
std::string least_id_in(std::string_view nodes) {
  std::string least;
  while (!nodes.empty()) {
    const auto line = nodes.substr(0, nodes.find('\n'));
    nodes.remove_prefix(std::min(nodes.size(), line.size() + 1));
    const auto id = line.substr(0, line.find(' '));
    if (id.empty() || line.find("handshake") != line.npos || line.find("noaddr") != line.npos) continue;
    if (least.empty() || id < least) least = id;
  }
  return least;
}

failure no_cluster(const node_address& node, std::string_view words) {
  if (words.find("cluster support disabled") == words.npos) return failure_of(words);
  return {errc::unsupported, "redis " + node.shown() + ": the server is no part of a Redis Cluster; write redis://" +
                                 node.shown() + " for a single server"};
}

failure not_whole(const node_address& node, const std::pair<slot, slot>& gap) {
  return {errc::unavailable, "redis " + node.shown() + ": the cluster is not whole: nobody serves slots " +
                                 std::to_string(gap.first) + " to " + std::to_string(gap.second)};
}

}  // namespace

/// Three questions in one send; the last answer has the first two with it.
void cluster::introduce(const node_address& seed, const std::shared_ptr<introduction>& all) {
  std::string bytes;
  append_command(bytes, {"CLUSTER", "NODES"});
  append_command(bytes, {"PUBSUB", "SHARDNUMSUB", "0"});
  append_command(bytes, {"CLUSTER", "SLOTS"});
  struct said_before {
    std::string least_id;
    bool sharded = false;
  };
  const auto before = std::make_shared<said_before>();
  std::vector<link::answer> answers;
  answers.emplace_back([before](const result<reply>& said) {
    if (said && !said->is_error()) before->least_id = least_id_in(said->text());
  });
  answers.emplace_back([before](const result<reply>& said) { before->sharded = said && !said->is_error(); });
  answers.emplace_back([before, seed, all](const result<reply>& said) {
    if (!said) return all->fail(said.error());
    if (said->is_error()) return all->fail(no_cluster(seed, said->text()));
    auto slots = slot_map::from(*said, seed);
    if (!slots) return all->fail(slots.error());
    if (const auto gap = slots->gap()) return all->fail(not_whole(seed, *gap));
    const std::lock_guard lock(all->mutex);
    --all->left;
    if (all->slots) return;
    all->slots = std::move(*slots);
    all->least_id = before->least_id;
    all->sharded = before->sharded;
    all->changed.notify_all();
  });
  link_to(seed)->send(std::move(bytes), std::move(answers), spi::caller::must_not_block);
}

result<void> cluster::open() {
  const auto all = std::make_shared<introduction>();
  all->left = where_.seeds.size();
  for (const auto& seed : where_.seeds) introduce(seed, all);
  std::unique_lock lock(all->mutex);
  all->changed.wait_for(lock, engine_.options().connect_timeout, [&] { return all->slots || all->left == 0; });
  if (!all->slots) {
    if (all->why) return *all->why;
    return broken(where_.shown(), "no node of the cluster answered in time");
  }
  identity_ = "redis+cluster:" + all->least_id;
  sharded_ = all->sharded;
  const guard ours(mutex_);
  slots_ = std::move(*all->slots);
  return {};
}

}  // namespace holdfast::redis
