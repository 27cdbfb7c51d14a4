#include "cluster_ears.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace holdfast::redis {

namespace {

/// As a node knows it: where it is heard is ours to know.
subject at_node(const subject& what) { return {what.what, what.text}; }

/// Any node but `not_this`, if there is another: clients spread.
node_address any_of(const std::vector<node_address>& nodes, const node_address& not_this) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::vector<node_address> others;
  for (const auto& node : nodes)
    if (node != not_this) others.push_back(node);
  if (others.empty()) return not_this;
  return others[std::uniform_int_distribution<std::size_t>(0, others.size() - 1)(random)];
}

}  // namespace

cluster_ears::cluster_ears(std::shared_ptr<cluster> nodes, spi::runtime& engine, callbacks tell)
    : nodes_(std::move(nodes)), engine_(engine), tell_(std::move(tell)) {}

node_address cluster_ears::place_of(const subject& what) {
  if (what.at)
    if (auto master = nodes_->master(*what.at)) return std::move(*master);
  if (anchor_.port.empty()) anchor_ = any_of(nodes_->masters(), {});
  return anchor_;
}

std::shared_ptr<ears> cluster_ears::ears_at(const node_address& node) {
  auto& found = ears_[node];
  if (found) return found;
  callbacks tell;
  tell.message = tell_.message;
  tell.gap = tell_.gap;
  tell.trouble = [weak = weak_from_this(), node] {
    if (auto self = weak.lock()) self->on_trouble(node);
  };
  tell.moved = [weak = weak_from_this(), node](const subject& what) {
    if (auto self = weak.lock()) self->on_moved(node, what);
  };
  return found = std::make_shared<ears>(nodes_->settings_of(node), engine_, std::move(tell));
}

void cluster_ears::listen(const subject& what, ready done) {
  std::shared_ptr<ears> there;
  {
    const guard lock(mutex_);
    auto [at, fresh] = interests_.try_emplace(what);
    if (fresh) at->second.node = place_of(what);
    there = ears_at(at->second.node);
  }
  there->listen(at_node(what), std::move(done));
}

bool cluster_ears::hears(const subject& what) const {
  const guard lock(mutex_);
  const auto found = interests_.find(what);
  if (found == interests_.end() || found->second.adrift) return false;
  return ears_.at(found->second.node)->hears(at_node(what));
}

void cluster_ears::ignore(const subject& what) {
  const guard lock(mutex_);
  const auto found = interests_.find(what);
  if (found == interests_.end()) return;
  const auto there = ears_at(found->second.node);
  there->ignore(at_node(what));
  if (!there->wants(at_node(what))) interests_.erase(found);
}

std::vector<cluster_ears::move> cluster_ears::moves() {
  std::vector<move> all;
  std::set<std::pair<node_address, subject>> heard;  // afterwards
  for (auto& [what, wanted] : interests_) {
    const node_address before = wanted.node;
    wanted.node = place_of(what);
    heard.emplace(wanted.node, at_node(what));
    if (wanted.node == before && !wanted.adrift) continue;
    wanted.adrift = false;
    all.push_back({wanted.node == before ? nullptr : ears_at(before), ears_at(wanted.node), at_node(what)});
  }
  for (auto& one : all) {
    const auto stays = [&](const auto& at) { return at.second == one.from && heard.contains({at.first, one.what}); };
    if (one.from && std::any_of(ears_.begin(), ears_.end(), stays)) one.from = nullptr;
  }
  resuming_ += all.size();
  return all;
}

void cluster_ears::make(const std::vector<move>& all) {
  for (const auto& one : all) {
    if (one.from) one.from->drop(one.what);
    one.to->listen(one.what, [weak = weak_from_this()](const result<void>&) {
      if (auto self = weak.lock()) self->one_resumed();
    });
  }
}

void cluster_ears::one_resumed() {
  {
    const guard lock(mutex_);
    if (--resuming_ != 0) return;
  }
  tell_.gap();
}

void cluster_ears::follow() {
  guard lock(mutex_);
  // One that left the cluster may go on answering, but hears nothing any more.
  const auto masters = nodes_->masters();
  if (std::find(masters.begin(), masters.end(), anchor_) == masters.end()) anchor_ = {};
  const auto all = moves();
  lock.unlock();
  make(all);
}

void cluster_ears::on_trouble(const node_address& node) {
  std::vector<move> all;
  {
    const guard lock(mutex_);
    if (node == anchor_) {
      anchor_ = any_of(nodes_->masters(), node);
      all = moves();
    }
  }
  make(all);
  nodes_->doubt(node);
}

/// Where it is heard now is known once the map has been read.
void cluster_ears::on_moved(const node_address& node, const subject& what) {
  {
    const guard lock(mutex_);
    const auto found = interests_.find({what.what, what.text, slot_of(what.text)});
    if (found != interests_.end() && found->second.node == node) found->second.adrift = true;
  }
  nodes_->doubt(node);
}

}  // namespace holdfast::redis
