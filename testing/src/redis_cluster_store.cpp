#include <holdfast/testing/redis_cluster.hpp>
#include <holdfast/testing/store_fixture.hpp>

#include <map>

namespace holdfast::testing {

namespace {

/// The clusters of this program: starting one for each test would take seconds. The first has three masters; the
/// others, for tests that need several stores, have one node each.
redis_cluster& cluster(std::size_t index) {
  static std::map<std::size_t, redis_cluster> all;
  auto found = all.find(index);
  if (found == all.end()) found = all.try_emplace(index, index == 0 ? 3 : 1).first;
  return found->second;
}

/// An empty cluster.
class redis_cluster_fixture final : public store_fixture {
 public:
  redis_cluster_fixture() { cluster(0).start_all(); }
  ~redis_cluster_fixture() override {
    for (const auto& [index, used] : used_) cluster(index).flush();
  }

  std::string url(std::size_t index) const override {
    used_[index] = true;
    return cluster(index).url();
  }
  spi::capabilities supports() const override {
    return {.mutex = true,
            .shared_mutex = true,
            .permits = true,
            .semaphore = true,
            .latch = true,
            .cell = true,
            .fence = true,
            .fifo = true,
            .raise_token = true};
  }
  bool cross_process() const override { return true; }
  bool notices_death_at_once() const override { return false; }

  bool has_server() const override { return true; }
  void kill_server() override { cluster(0).kill_all(); }
  void start_server() override { cluster(0).start_all(); }
  void pause_server() override { cluster(0).pause_all(); }
  void resume_server() override { cluster(0).resume_all(); }

 private:
  mutable std::map<std::size_t, bool> used_;
};

}  // namespace

store_parameter redis_cluster_store() {
  return {"redis_cluster", [] { return std::make_unique<redis_cluster_fixture>(); }};
}

}  // namespace holdfast::testing
