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

TEST_F(zookeeper_doubt, what_is_asked_for_while_one_session_follows_another_is_not_left_behind) {
  const client c = through_proxy(lasting);
  std::atomic<bool> enough{false};
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([&, i] {
      mutex m(c, "m" + std::to_string(i));
      while (!enough) {
        try {
          [[maybe_unused]] const auto held = m.try_acquire();
        } catch (const error& e) {
          EXPECT_EQ(e.code(), errc::unavailable) << e.what();
        }
      }
    });
  }
  for (int i = 0; i < 15; ++i) {
    std::vector<std::uint64_t> sessions;
    EXPECT_TRUE(eventually([&] { return (sessions = server_.sessions()).size() == 1 && sessions[0] != 0; }));
    // So that its client does not take it back while it is ended.
    proxy_.hang();
    server_.end_session(sessions[0]);
    proxy_.pass();
  }
  enough = true;
  for (auto& one : all) one.join();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(leaves_nothing("/m" + std::to_string(i))) << i;
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
  const client_options options{.ttl = 60s, .request_timeout = 10s};
  std::atomic<bool> enough{false};
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&] {
      permit_semaphore s(connect(server_.url(), options), "s", 1);
      while (!enough) {
        const auto held = s.try_acquire({.wait = 1s});
        if (!held) continue;
        if (++inside > 1) ++together;
        --inside;
      }
    });
  }
  const raw_zookeeper raw(server_.address());
  EXPECT_TRUE(eventually([&] { return !raw.children("/s/leases").empty(); }));
  // Somebody who does not know what the nodes are for.
  for (int removed = 0; removed < 200;)
    for (const auto& guard : raw.children("/s/locks"))
      if (raw.remove("/s/locks/" + guard)) ++removed;
  enough = true;
  for (auto& one : all) one.join();
  EXPECT_EQ(together, 0);
  EXPECT_TRUE(leaves_nothing("/s/leases"));
}

}  // namespace holdfast::testing
