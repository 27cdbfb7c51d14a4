#include "cluster.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace holdfast::testing {

namespace {

/// A name that begins with `stem` and is served by that node.
std::string name_at(redis_cluster& nodes, const std::string& stem, std::size_t node) {
  for (int i = 0;; ++i)
    if (std::string name = stem + std::to_string(i); nodes.master_of(name) == node) return name;
}

}  // namespace

// Whoever waits for one node reads for others, and calls them: what they then ask of another node must not be waited
// for there, or two such threads wait for each other.
TEST(cluster_threads, that_lock_at_two_nodes_in_either_order_never_wait_for_each_other) {
  redis_cluster& nodes = the_cluster();
  const std::size_t here = nodes.master_of("a");
  const std::size_t there = another_master(nodes, "a");
  const client c = connect(nodes.url());
  constexpr int pairs = 4;
  constexpr int rounds = 200;
  std::atomic<int> done{0};
  std::vector<std::jthread> workers;
  for (int w = 0; w < 2 * pairs; ++w) {
    const bool forth = w % 2 == 0;
    const std::string stem = std::to_string(w);
    // They are locked in the order of their names.
    const std::string first = name_at(nodes, "a" + stem, forth ? here : there);
    const std::string second = name_at(nodes, "b" + stem, forth ? there : here);
    workers.emplace_back([&done, c, first, second] {
      mutex one(c, first);
      mutex other(c, second);
      multi_mutex both({one, other});
      for (int i = 0; i < rounds; ++i) {
        const lease held = both.acquire({.wait = live_timeout});
        ++done;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return done == 2 * pairs * rounds; }));
}

}  // namespace holdfast::testing
