#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/shared_counter.hpp>

#include <gtest/gtest.h>

#include <vector>

// Three members, of which one is killed or stands still while processes contend.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

class etcd_cluster : public ::testing::Test {
 protected:
  /// Eight processes count on an unprotected counter; `trouble` happens meanwhile.
  template <class Trouble>
  void count_through(Trouble trouble) {
    const temporary_directory directory;
    const std::string file = (directory.path() / "counter").string();
    const shared_counter counter(file);
    const int share = scaled(60);
    std::vector<holder_process> all;
    for (int i = 0; i < 8; ++i) all.push_back(holder_process::connected(server_.url(), 20s));
    for (auto& one : all) one.tell("count mutex my " + std::to_string(share) + " counter=" + file);
    ASSERT_TRUE(eventually([&] { return counter.value() > share; }));
    trouble();
    for (auto& one : all) EXPECT_EQ(one.reply(100s), "counted " + std::to_string(share));
    EXPECT_EQ(counter.value(), 8 * share);
    EXPECT_TRUE(eventually([&] { return server_.etcdctl("get --prefix --keys-only my/").empty(); }));
  }

  etcd_server server_{etcd_server::size::three};
};

}  // namespace

TEST_F(etcd_cluster, a_leader_that_is_killed_costs_no_update_and_no_waiter) {
  count_through([&] {
    const auto leader = server_.leader();
    server_.node(leader).kill();
    server_.node(leader).launch();
  });
}

TEST_F(etcd_cluster, a_leader_that_stands_still_costs_no_update_and_no_waiter) {
  count_through([&] {
    const auto leader = server_.leader();
    server_.node(leader).pause();
    EXPECT_TRUE(eventually([&] {
      for (std::size_t i = 0; i < server_.nodes(); ++i)
        if (i != leader && server_.node(i).answers()) return true;
      return false;
    }));
    server_.node(leader).resume();
  });
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
