#include "cluster.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

// A master dies, and its replica takes over.

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST(cluster_failover, contenders_go_on_and_tokens_increase) {
  redis_cluster& nodes = the_cluster();
  nodes.notice_death_after(1s);
  std::mutex guard;
  std::set<std::uint64_t> tokens;
  fencing_token newest = 0;
  std::atomic<int> rounds{0};
  std::atomic<bool> stop{false};
  std::vector<std::jthread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      // A holder that the failover forgot loses its lease; that is no error here.
      mutex m(connect(nodes.url(), {.ttl = 2s, .request_timeout = 10s}), "m");
      while (!stop) {
        const lease held = m.acquire({.wait = live_timeout});
        const std::lock_guard lock(guard);
        EXPECT_TRUE(tokens.insert(held.token().value()).second) << "a token came twice";
        newest = std::max(newest, held.token());
        ++rounds;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return rounds > 50; }));
  const std::size_t master = nodes.master_of("m");
  fencing_token before = 0;
  {
    const std::lock_guard lock(guard);
    nodes.node(master).kill();
    before = newest;
  }
  const int then = rounds;
  EXPECT_TRUE(eventually([&] { return rounds > then + 100; })) << "somebody else serves it";
  stop = true;
  workers.clear();
  EXPECT_GT(newest, before);
  EXPECT_NE(nodes.master_of("m"), master);
}

TEST(cluster_failover, a_waiter_gets_the_lock_of_a_holder_that_was_forgotten_or_left) {
  redis_cluster& nodes = the_cluster();
  nodes.notice_death_after(1s);
  mutex ours(connect(nodes.url(), {.ttl = 2s}), "m");
  mutex theirs(connect(nodes.url(), {.request_timeout = 10s}), "m");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(eventually([&] { return nodes.command("m", {"ZCARD", "holdfast_line:{m}"}) == ":1"; }));
  nodes.node(nodes.master_of("m")).kill();
  (void)held.release();  // now, or when the replica has taken over, or its ttl ends
  ASSERT_TRUE(eventually([&] { return waits.ready(); }));
  EXPECT_GT(waits.get().token(), held.token());
}

TEST(cluster_failover, other_names_are_not_disturbed) {
  redis_cluster& nodes = the_cluster();
  nodes.notice_death_after(1s);
  const client c = connect(nodes.url());
  std::string dead = "m";
  std::string alive;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
    if (nodes.master_of(name) != nodes.master_of(dead)) alive = name;
  mutex there(c, alive);
  EXPECT_TRUE(there.try_acquire());
  nodes.node(nodes.master_of(dead)).kill();
  // Until the other masters find that one is missing, which they say of all slots (cluster-require-full-coverage).
  EXPECT_TRUE(there.try_acquire());
  EXPECT_TRUE(throws(errc::unavailable, [&] { return mutex(c, dead).try_acquire(); }));
  EXPECT_TRUE(mutex(c, dead).try_acquire({.wait = live_timeout}));
}

}  // namespace holdfast::testing
