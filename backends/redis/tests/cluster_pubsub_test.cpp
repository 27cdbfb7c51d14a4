#include "cluster.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

// How a Redisson client on a cluster, played by plain commands, wakes ours: by PUBLISH or by SPUBLISH.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::string java = "6f1d8e0a-1111-4222-8333-444455556666:41";
const std::string channel = "redisson_lock__channel:{my}";

void lock_as_java(redis_cluster& nodes) {
  nodes.command("my", {"HSET", "my", java, "1"});
  nodes.command("my", {"PEXPIRE", "my", "30000"});
}

void unlock_as_java(redis_cluster& nodes, const std::string& publish, const std::string& where = channel) {
  const std::string said = nodes.command(
      "my", {"EVAL", "redis.call('DEL', KEYS[1]) return redis.call(ARGV[1], ARGV[2], '0')", "1", "my", publish, where});
  EXPECT_TRUE(said.starts_with(':')) << said;
}

/// Does anybody listen, at the node that serves the slot or, to plain channels, anywhere?
bool heard(redis_cluster& nodes, const char* count, const std::string& where) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes.node(i).reply({"PUBSUB", count, where}).ends_with(":1\r\n")) return true;
  return false;
}

/// How often scripts and clients called it at the node that serves the name.
std::size_t calls_of(redis_cluster& nodes, const std::string& command) {
  const std::string said = nodes.node(nodes.master_of("my")).reply({"INFO", "commandstats"});
  const auto at = said.find(command);
  return at == said.npos ? 0 : std::stoul(said.substr(at + command.size()));
}

struct way {
  const char* mode;     // of ours
  const char* publish;  // of theirs
  const char* count;
};

class cluster_pubsub : public ::testing::TestWithParam<way> {};

}  // namespace

TEST_P(cluster_pubsub, a_foreign_release_wakes_us) {
  redis_cluster& nodes = the_cluster();
  mutex m(connect(nodes.url(std::string("pubsub=") + GetParam().mode)), "my");
  lock_as_java(nodes);
  EXPECT_FALSE(m.try_acquire());
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return heard(nodes, GetParam().count, channel); }));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  unlock_as_java(nodes, GetParam().publish);
  EXPECT_TRUE(eventually([&] { return waits.ready(); }, 500ms));
  EXPECT_TRUE(waits.get().valid());
  EXPECT_TRUE(eventually([&] { return !heard(nodes, GetParam().count, channel); })) << "nobody waits any more";
}

TEST_P(cluster_pubsub, a_foreign_release_of_a_fair_lock_wakes_us) {
  redis_cluster& nodes = the_cluster();
  mutex m(connect(nodes.url(std::string("pubsub=") + GetParam().mode)), "my", {.order = ordering::fifo});
  lock_as_java(nodes);
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return nodes.command("my", {"LLEN", "redisson_lock_queue:{my}"}) == ":1"; }));
  const std::string own = channel + ":" + [&] {
    const std::string said = nodes.node(nodes.master_of("my")).reply({"LINDEX", "redisson_lock_queue:{my}", "0"});
    return said.substr(said.find('\n') + 1, said.rfind('\r') - said.find('\n') - 1);
  }();
  unlock_as_java(nodes, GetParam().publish, own);
  EXPECT_TRUE(eventually([&] { return waits.ready(); }, 500ms));
  EXPECT_TRUE(waits.get().valid());
  EXPECT_TRUE(eventually([&] { return !heard(nodes, GetParam().count, own); }));
}

TEST_P(cluster_pubsub, our_release_is_told_in_the_way_they_listen) {
  redis_cluster& nodes = the_cluster();
  mutex m(connect(nodes.url(std::string("pubsub=") + GetParam().mode)), "my");
  const auto sharded = [&] { return calls_of(nodes, "cmdstat_spublish:calls="); };
  const auto plain = [&] { return calls_of(nodes, "cmdstat_publish:calls="); };
  lease held = m.acquire();
  const auto sharded_before = sharded();
  const auto plain_before = plain();
  ASSERT_TRUE(succeeded(held.release()));
  const std::string mode = GetParam().mode;
  EXPECT_EQ(sharded() - sharded_before, mode == "plain" ? 0u : 1u);
  EXPECT_EQ(plain() - plain_before, mode == "plain" || mode == "both" ? 2u : 1u) << "one is the event";
}

INSTANTIATE_TEST_SUITE_P(ways, cluster_pubsub,
                         ::testing::Values(way{"auto", "SPUBLISH", "SHARDNUMSUB"}, way{"plain", "PUBLISH", "NUMSUB"},
                                           way{"sharded", "SPUBLISH", "SHARDNUMSUB"}, way{"both", "PUBLISH", "NUMSUB"},
                                           way{"both", "SPUBLISH", "SHARDNUMSUB"}),
                         [](const auto& one) { return std::string(one.param.mode) + "_" + one.param.publish; });

TEST(cluster_subscriptions, follow_a_slot_that_moves) {
  redis_cluster& nodes = the_cluster();
  mutex m(connect(nodes.url("pubsub=sharded")), "my");
  lock_as_java(nodes);
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return heard(nodes, "SHARDNUMSUB", channel); }));
  const std::size_t to = another_master(nodes, "my");
  nodes.begin_move("my", to);
  nodes.carry_keys("my", to);
  nodes.end_move("my", to);
  ASSERT_TRUE(eventually([&] { return nodes.node(to).reply({"PUBSUB", "SHARDNUMSUB", channel}).ends_with(":1\r\n"); }));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  unlock_as_java(nodes, "SPUBLISH");
  EXPECT_TRUE(eventually([&] { return waits.ready(); }, 500ms));
  EXPECT_TRUE(waits.get().valid());
}

TEST(cluster_subscriptions, cut_connections_lose_no_waiter) {
  redis_cluster& nodes = the_cluster();
  mutex ours(connect(nodes.url()), "my");
  mutex theirs(connect(nodes.url()), "my");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(eventually([&] { return nodes.command("my", {"ZCARD", "holdfast_line:{my}"}) == ":1"; }));
  for (int i = 0; i < 3; ++i) {
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes.node(n).command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_FALSE(eventually([&] { return waits.ready(); }, 200ms));
  }
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
}

}  // namespace holdfast::testing
