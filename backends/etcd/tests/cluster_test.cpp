#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/history.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/shared_counter.hpp>

#include <gtest/gtest.h>

#include <vector>

// Three members, of which one is killed, stands still or is cut off from the others while processes contend.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

enum class who : std::uint8_t { leader, follower };

class etcd_cluster : public ::testing::Test {
 protected:
  std::size_t index_of(who one) {
    const auto leader = server_.leader();
    return one == who::leader ? leader : (leader + 1) % server_.nodes();
  }

  /// Others than `index` serve again.
  bool others_serve(std::size_t index) {
    return eventually([&] {
      for (std::size_t i = 0; i < server_.nodes(); ++i)
        if (i != index && server_.node(i).answers()) return true;
      return false;
    });
  }

  /// Eight processes count on an unprotected counter, and write down what they see; `trouble` happens meanwhile.
  template <class Trouble>
  void count_through(Trouble trouble) {
    const temporary_directory directory;
    const std::string file = (directory.path() / "counter").string();
    const std::string seen = (directory.path() / "history").string();
    const shared_counter counter(file);
    const int share = scaled(90);
    constexpr int crowd = 8;
    std::vector<holder_process> all;
    for (int i = 0; i < crowd; ++i) all.emplace_back();
    // Long enough for an election on a machine that has much else to do.
    for (auto& one : all) one.tell("connect " + server_.url() + " ttl=20000 request=12000");
    for (auto& one : all) ASSERT_EQ(one.reply(), "ok");
    const std::string count = "count mutex my " + std::to_string(share) + " counter=" + file + " history=" + seen;
    for (auto& one : all) one.tell(count);
    ASSERT_TRUE(eventually([&] { return counter.value() > share; }));
    trouble();
    for (auto& one : all) EXPECT_EQ(one.reply(100s), "counted " + std::to_string(share)) << "a waiter is lost";
    EXPECT_EQ(counter.value(), crowd * share);
    const auto history = read_history(seen);
    EXPECT_EQ(grants(history), static_cast<std::size_t>(crowd * share));
    EXPECT_EQ(contradiction(history).value_or(""), "");
    EXPECT_TRUE(eventually([&] { return server_.etcdctl("get --prefix --keys-only my/").empty(); }));
  }

  void count_through_a_kill(who one) {
    count_through([&] {
      const auto index = index_of(one);
      server_.node(index).kill();
      EXPECT_TRUE(others_serve(index));
      server_.node(index).launch();
    });
  }

  void count_through_a_pause(who one) {
    count_through([&] {
      const auto index = index_of(one);
      server_.node(index).pause();
      EXPECT_TRUE(others_serve(index));
      server_.node(index).resume();
    });
  }

  void count_through_isolation(who one) {
    count_through([&] {
      const auto index = index_of(one);
      server_.isolate(index);
      EXPECT_TRUE(eventually([&] { return !server_.node(index).answers(); })) << "it is not alone";
      EXPECT_TRUE(others_serve(index));
      server_.reunite();
    });
  }

  etcd_server server_{etcd_server::size::three};
};

}  // namespace

TEST_F(etcd_cluster, a_leader_that_is_killed_costs_no_update_and_no_waiter) { count_through_a_kill(who::leader); }

TEST_F(etcd_cluster, a_follower_that_is_killed_costs_no_update_and_no_waiter) { count_through_a_kill(who::follower); }

TEST_F(etcd_cluster, a_leader_that_stands_still_costs_no_update_and_no_waiter) { count_through_a_pause(who::leader); }

TEST_F(etcd_cluster, a_follower_that_stands_still_costs_no_update_and_no_waiter) {
  count_through_a_pause(who::follower);
}

TEST_F(etcd_cluster, a_leader_cut_off_from_the_others_costs_no_update_and_no_waiter) {
  count_through_isolation(who::leader);
}

TEST_F(etcd_cluster, a_follower_cut_off_from_the_others_costs_no_update_and_no_waiter) {
  count_through_isolation(who::follower);
}

TEST_F(etcd_cluster, the_member_that_is_asked_may_go) {
  mutex m(connect(server_.url(), {.ttl = 20s, .request_timeout = 3s}), "m");
  mutex other(connect(server_.url(), {.request_timeout = 3s}), "m");
  lease held = m.acquire();
  auto waits = other.async_acquire();
  server_.node(0).kill();  // both ask the first that the URL names
  EXPECT_TRUE(eventually([&] { return held.renew().has_value(); }));
  EXPECT_FALSE(waits.ready());
  EXPECT_TRUE(eventually([&] { return held.release().has_value(); }));
  EXPECT_TRUE(waits.get().valid());
}

TEST_F(etcd_cluster, two_of_three_gone_is_unavailable_and_one_back_is_enough) {
  const client c = connect(server_.url(), {.request_timeout = 1500ms});
  mutex m(c, "m");
  {
    const lease warm = m.acquire();
  }
  server_.node(0).kill();
  server_.node(1).kill();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire({.wait = 10s}); }));
  server_.node(1).launch();
  EXPECT_TRUE(eventually([&] {
    try {
      return m.try_acquire().has_value();
    } catch (const error&) {
      return false;
    }
  }));
}

}  // namespace holdfast::testing
