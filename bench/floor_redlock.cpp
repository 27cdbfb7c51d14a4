#include "floor.hpp"
#include "raw_redis.hpp"

#include <chrono>
#include <deque>
#include <random>
#include <thread>

namespace holdfast::bench {

namespace {

using namespace raw_redis;

/// Redlock as it is written down: the nodes are asked one after the other, and who does not get a majority gives all
/// back and tries again after a random moment.
class quorum final : public contender {
 public:
  quorum(const uri& where, const std::string& lock) {
    const std::string owner = random_owner();
    for (const auto& host : where.hosts) nodes_.emplace_back(where, host, "floor:" + lock, owner);
  }

  std::uint64_t acquire() override {
    while (!try_acquire()) {
      release();
      std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(100, 1000)(random_)));
    }
    return 0;
  }
  void release() override {
    for (auto& node : nodes_) node.release();
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  bool try_acquire() {
    std::size_t votes = 0;
    for (auto& node : nodes_) votes += node.acquire() ? 1 : 0;
    return votes >= nodes_.size() / 2 + 1;
  }

  std::deque<single_key> nodes_;
  std::minstd_rand random_{std::random_device{}()};
};

class redlock_subject final : public subject {
 public:
  explicit redlock_subject(const std::string& url) : where_(parse(url)) {}
  std::unique_ptr<contender> enlist(const assignment& what) override {
    return std::make_unique<quorum>(where_, what.lock);
  }

 private:
  const uri where_;
};

class redlock_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
      case workload::many:
      case workload::handover:
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::same, "SET NX PX and compare-and-delete, node by node"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string& url, const std::string&) const override {
    return std::make_unique<redlock_subject>(url);
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_redlock() {
  static const holdfast::bench::redlock_floor floor;
  return &floor;
}
