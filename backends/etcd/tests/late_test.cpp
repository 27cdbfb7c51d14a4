#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <sstream>

// A request that was not answered in time and was sent again is carried out after all, much later: by a member that
// stood still, say. Here by a proxy in front of one of the two addresses the client knows the server by.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

class etcd_late : public ::testing::Test {
 protected:
  client slow() {
    return connect("etcd://127.0.0.1:" + std::to_string(proxy_.port()) + "," + server_.hosts(),
                   {.ttl = 60s, .request_timeout = 3s});
  }

  double metric(const std::string& start) {
    std::istringstream lines(server_.node(0).get("/metrics"));
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(start)) return std::stod(line.substr(line.rfind(' ')));
    return 0;
  }
  double transactions() {
    return metric("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"Txn\",grpc_service=\"etcdserverpb.KV\"");
  }
  bool watchers(double wanted) {
    return eventually([&] { return metric("etcd_debugging_mvcc_watcher_total ") == wanted; });
  }

  /// Passes on what was kept, and waits until the server has seen to it.
  void deliver() {
    ASSERT_TRUE(proxy_.kept());
    const double before = transactions();
    proxy_.deliver();
    ASSERT_TRUE(eventually([&] { return transactions() > before; }));
  }

  etcd_server server_;
  cutting_proxy proxy_{server_.node(0).port()};
};

}  // namespace

TEST_F(etcd_late, a_downgrade_takes_nothing_from_a_later_upgrade) {
  const client c = slow();
  shared_mutex m(c, "m");
  lease held = m.acquire();
  ASSERT_TRUE(watchers(2)) << "both keys of a writer are watched";
  proxy_.keep("m/write/");
  ASSERT_TRUE(succeeded(held.downgrade()));
  ASSERT_TRUE(held.try_upgrade());
  deliver();
  shared_mutex other(connect(server_.url()), "m");
  EXPECT_FALSE(other.try_acquire_shared()) << "a reader beside a writer";
  EXPECT_TRUE(succeeded(held.renew()));
  EXPECT_TRUE(succeeded(held.release()));
}

TEST_F(etcd_late, an_upgrade_keeps_no_reader_out_after_a_downgrade) {
  const client c = slow();
  shared_mutex m(c, "m");
  lease held = m.acquire_shared();
  ASSERT_TRUE(watchers(1));
  proxy_.keep("m/write/");
  ASSERT_TRUE(held.try_upgrade());
  ASSERT_TRUE(succeeded(held.downgrade()));
  deliver();
  shared_mutex other(connect(server_.url()), "m");
  EXPECT_TRUE(other.try_acquire_shared({.wait = live_timeout}));
  EXPECT_TRUE(succeeded(held.release()));
}

TEST_F(etcd_late, a_waiter_for_permits_is_not_in_line_when_it_has_gone) {
  const client c = slow();
  counting_semaphore waits(c, "s");
  counting_semaphore other(connect(server_.url()), "s");
  ASSERT_TRUE(other.try_set_permits(0));
  proxy_.keep("\twait\t");
  EXPECT_FALSE(waits.try_acquire_for(1500ms));
  deliver();
  other.release();
  EXPECT_TRUE(other.try_acquire_for(live_timeout)) << "behind somebody who is not there";
}

TEST_F(etcd_late, who_is_evicted_before_the_last_look_holds_nothing) {
  mutex longer(connect(server_.url()), "m/longer");
  const lease ahead = longer.acquire();  // in the way of the first look only
  const client c = connect("etcd://127.0.0.1:" + std::to_string(proxy_.port()), {.ttl = 60s, .request_timeout = 20s});
  {
    const lease first = mutex(c, "other").acquire();  // the session
  }
  mutex m(c, "m");
  proxy_.keep("m/", 1);  // the second look
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return proxy_.kept(); }));
  server_.etcdctl("del m/ m/l");
  proxy_.let_go();
  lease held = waits.get();
  EXPECT_NE(server_.etcdctl("get m/ m/l --keys-only"), "") << "a grant without a key";
  EXPECT_TRUE(succeeded(held.renew()));
}

TEST_F(etcd_late, a_latch_is_not_set_again) {
  const client c = slow();
  latch l(c, "l");
  {
    const lease warm = mutex(c, "warm").acquire();  // the session
  }
  proxy_.keep("holdfast-done:", 1);  // the first one only looks
  ASSERT_TRUE(l.try_set_count(1));
  l.count_down();
  ASSERT_TRUE(l.try_wait());
  deliver();
  EXPECT_TRUE(l.try_wait());
  EXPECT_EQ(l.count(), 0);
}

}  // namespace holdfast::testing
