#include "raw_zookeeper.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>
#include <vector>

// Answers that are lost at the worst moment, and sessions and nodes that go while somebody is on the way in.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

using direction = cutting_proxy::direction;
using manner = cutting_proxy::manner;

class zookeeper_doubt : public ::testing::Test {
 protected:
  client through_proxy(client_options options) const {
    return connect("zk://127.0.0.1:" + std::to_string(proxy_.port()), std::move(options));
  }
  /// Long before the session ends: what is left by then is left by us.
  bool leaves_nothing(const std::string& path) const {
    const raw_zookeeper raw(server_.address());
    return eventually([&] { return raw.children(path).empty(); }, 10s);
  }

  zookeeper_server server_;
  cutting_proxy proxy_{server_.port()};
};

const client_options lasting{.ttl = 60s, .request_timeout = 10s};

}  // namespace

TEST_F(zookeeper_doubt, what_is_asked_for_before_the_next_session_is_connected_is_not_left_behind) {
  constexpr int count = 20;
  const client c = through_proxy(lasting);
  // The nodes of the names are there.
  for (int i = 0; i < count; ++i) ASSERT_TRUE(mutex(c, "n" + std::to_string(i)).try_acquire());
  mutex m(c, "m");
  const lease held = m.acquire();
  const auto session = server_.sessions();
  ASSERT_EQ(session.size(), 1u);
  // So that its client does not take it back while it is ended.
  proxy_.hang();
  server_.end_session(session[0]);
  proxy_.pass();
  // It hears of that, and asks for another, in vain.
  constexpr std::size_t length_of_the_answer = 41;
  proxy_.cut_after(direction::to_client, length_of_the_answer, manner::stall);
  ASSERT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  std::vector<operation<lease>> waits;
  // Some before it asks, some after.
  EXPECT_FALSE(eventually(
      [&] {
        if (waits.size() < count) waits.push_back(mutex(c, "n" + std::to_string(waits.size())).async_acquire());
        return waits.front().ready();
      },
      500ms));
  proxy_.pass();
  for (auto& one : waits) EXPECT_TRUE(succeeded(one.get().release()));
  for (std::size_t i = 0; i < waits.size(); ++i) EXPECT_TRUE(leaves_nothing("/n" + std::to_string(i)));
}

TEST_F(zookeeper_doubt, a_release_after_a_downgrade_that_was_never_answered_leaves_nothing) {
  shared_mutex m(through_proxy({.ttl = 60s, .request_timeout = 300ms}), "m");
  lease held = m.acquire();
  proxy_.hang();
  EXPECT_FALSE(held.downgrade());
  EXPECT_FALSE(held.release());
  proxy_.pass();
  EXPECT_TRUE(leaves_nothing("/m"));
}

TEST_F(zookeeper_doubt, an_upgrade_whose_answer_was_lost_is_not_undone_when_the_connection_is_back) {
  shared_mutex m(through_proxy(lasting), "m");
  shared_mutex theirs(connect(server_.url(), lasting), "m");
  const raw_zookeeper raw(server_.address());
  for (int round = 0; round < 20; ++round) {
    lease held = m.acquire_shared();
    // The making of the writer's node is not answered, and so it is asked for again.
    proxy_.cut_after(direction::to_client, static_cast<std::size_t>(round % 10), manner::close);
    const bool upgraded = held.try_upgrade();
    proxy_.pass();
    ASSERT_TRUE(upgraded) << "nobody else is there";
    // Whatever was put off for the new connection has been done when this is.
    ASSERT_TRUE(succeeded(held.renew()));
    EXPECT_FALSE(eventually([&] { return theirs.try_acquire_shared().has_value(); }, 100ms)) << "round " << round;
    EXPECT_TRUE(held.valid());
    if (HasFailure()) break;
  }
  EXPECT_TRUE(leaves_nothing("/m"));
}

TEST_F(zookeeper_doubt, a_write_to_a_cell_is_known_to_have_been_made_although_others_came_after_it) {
  cell ours(through_proxy(lasting), "c");
  cell theirs(connect(server_.url(), lasting), "c");
  std::minstd_rand random{20261116};
  int lost = 0;
  for (int round = 0; round < 40; ++round) {
    const auto seen = theirs.load();
    const std::string mine = "(" + std::to_string(round) + ")";
    proxy_.cut_after(direction::to_client, std::uniform_int_distribution<std::size_t>(0, 400)(random), manner::hang);
    const auto cuts = proxy_.cuts();
    std::atomic<bool> answered{false};
    bool written = false;
    std::thread writer([&] {
      written = ours.compare_exchange(seen.version, seen.value + mine);
      answered = true;
    });
    EXPECT_TRUE(eventually([&] { return answered || proxy_.cuts() > cuts; }));
    theirs.update([](const std::string& now) { return now; });
    proxy_.pass();
    writer.join();
    const bool there = theirs.load().value.find(mine) != std::string::npos;
    ASSERT_EQ(written, there) << "round " << round;
    if (proxy_.cuts() > cuts && there) ++lost;
    // Not too long for one.
    theirs.update([](const std::string&) { return std::string(); });
  }
  EXPECT_GT(lost, 0) << "no answer was lost";
}

TEST_F(zookeeper_doubt, who_has_lost_the_guard_of_a_semaphore_takes_no_permit) {
  permit_semaphore ours(through_proxy(lasting), "s", 1);
  permit_semaphore theirs(connect(server_.url(), lasting), "s", 1);
  ASSERT_TRUE(succeeded(ours.acquire().release()));
  const raw_zookeeper raw(server_.address());
  proxy_.cut_after(direction::to_client, 0, manner::stall);
  auto waits = ours.async_acquire();
  ASSERT_TRUE(eventually([&] { return raw.children("/s/locks").size() == 1; }));
  // Somebody who does not know what it is for, just when we are told that it is ours.
  ASSERT_TRUE(raw.remove("/s/locks/" + raw.children("/s/locks")[0]));
  lease held = theirs.acquire();
  proxy_.pass();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait)) << "two holders of one permit";
  ASSERT_TRUE(succeeded(held.release()));
  ASSERT_TRUE(succeeded(waits.get().release()));
  EXPECT_TRUE(leaves_nothing("/s/leases"));
  EXPECT_TRUE(leaves_nothing("/s/locks"));
}

}  // namespace holdfast::testing
