#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

// A server that is cut off from the others goes on answering what it can answer by itself, for as long as its patience
// lasts: much longer than the sessions here.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr unsigned patience = 150;  // ticks: half a minute
const client_options options{.ttl = 2s};

bool works(mutex& m) {
  return eventually([&] {
    try {
      return m.try_acquire({.wait = 1s}).has_value();
    } catch (const error&) {
      return false;
    }
  });
}

}  // namespace

TEST(zookeeper_isolation, a_follower_cut_off_from_the_others_keeps_no_lease_valid) {
  zookeeper_ensemble servers(patience);
  const zookeeper_server& alone = servers.follower();
  mutex ours(connect(alone.url(), options), "m");
  mutex lasting(connect(alone.url(), options), "n");
  const lease held = ours.acquire();
  const lease fixed = lasting.acquire({.ttl = 1h});
  const client others = connect(servers.leader().url(), options);
  auto waits = mutex(others, "m").async_acquire();
  auto also = mutex(others, "n").async_acquire();
  servers.isolate(alone);
  // In this order: who is let in between the two looks is not a second one.
  const lease next = waits.get();
  EXPECT_FALSE(held.valid()) << "two holders";
  const lease other = also.get();
  EXPECT_FALSE(fixed.valid()) << "two holders";
  EXPECT_TRUE(alone.serves()) << "it was not there to mislead us";
  EXPECT_EQ(held.loss_cause(), loss::unreachable);
  EXPECT_GT(next.token(), held.token());
}

TEST(zookeeper_isolation, a_follower_whose_others_stand_still_keeps_no_lease_valid) {
  zookeeper_ensemble servers(patience);
  zookeeper_server& alone = servers.follower();
  mutex m(connect(alone.url(), options), "m");
  const lease held = m.acquire();
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (&servers[i] != &alone) servers[i].pause();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 10s));
  EXPECT_TRUE(alone.serves()) << "it was not there to mislead us";
  EXPECT_EQ(held.loss_cause(), loss::unreachable);
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (&servers[i] != &alone) servers[i].resume();
  EXPECT_TRUE(works(m));
}

TEST(zookeeper_isolation, a_leader_cut_off_from_the_others_keeps_no_lease_valid) {
  zookeeper_ensemble servers;
  const zookeeper_server& alone = servers.leader();
  zookeeper_server& spared = servers.follower();
  mutex ours(connect(alone.url(), options), "m");
  const lease held = ours.acquire();
  // Which does not answer while there is an election.
  mutex theirs(connect(spared.url(), {.ttl = 2s, .request_timeout = 3 * live_timeout}), "m");
  auto waits = theirs.async_acquire();
  servers.isolate(alone);
  const lease next = waits.get();
  EXPECT_FALSE(held.valid()) << "two holders";
  EXPECT_GT(next.token(), held.token());
}

}  // namespace holdfast::testing
