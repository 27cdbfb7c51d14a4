#include <holdfast/testing/conformance.hpp>

#include <future>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(stats_conformance, a_new_client_has_done_nothing) {
  const client_stats fresh = connect().stats();
  EXPECT_EQ(fresh.acquired, 0u);
  EXPECT_EQ(fresh.held, 0u);
  EXPECT_EQ(fresh.wait.count(), 0u);
  EXPECT_EQ(fresh.wait.quantile(0.5), 0ns);
}

TEST_P(stats_conformance, grants_releases_and_holds_are_counted) {
  const client c = connect();
  mutex m(c, unique_name("counted"));
  {
    const lease held = m.acquire();
    EXPECT_EQ(c.stats().held, 1u);
  }
  {
    const lease held = m.acquire({.wait = live_timeout});
  }
  const client_stats now = c.stats();
  EXPECT_EQ(now.acquired, 2u);
  EXPECT_EQ(now.released, 2u);
  EXPECT_EQ(now.held, 0u);
  EXPECT_EQ(now.wait.count(), 2u);
  EXPECT_EQ(now.hold.count(), 2u);
  EXPECT_GT(now.hold.quantile(0.5), 0ns);
}

TEST_P(stats_conformance, waits_that_end_without_the_lock_are_counted_by_their_end) {
  const std::string name = unique_name("ends");
  const client c = connect();
  mutex ours(connect(), name);
  mutex theirs(c, name);
  const lease held = ours.acquire();
  EXPECT_FALSE(theirs.try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs.acquire({.wait = short_wait}); }));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(throws(errc::cancelled, [&] { return theirs.acquire({}, stop.get_token()); }));
  const client_stats now = c.stats();
  EXPECT_EQ(now.acquired, 0u);
  EXPECT_GE(now.busy, 1u);
  EXPECT_EQ(now.timed_out, 1u);
  EXPECT_EQ(now.cancelled, 1u);
}

TEST_P(stats_conformance, contention_is_counted) {
  const std::string name = unique_name("contended");
  const client c = connect();
  mutex ours(connect(), name);
  mutex theirs(c, name);
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(waiting(c, name, 1));
  ASSERT_TRUE(succeeded(held.release()));
  static_cast<void>(waits.get());
  EXPECT_EQ(c.stats().contended, 1u);
}

TEST_P(stats_conformance, losses_are_counted) {
  const client c = connect_with_ttl(1500ms);
  const std::string name = unique_name("lost");
  mutex m(c, name);
  const lease held = m.acquire();
  store().lose(name);
  ASSERT_TRUE(gets_lost(held));
  EXPECT_TRUE(eventually([&] { return c.stats().lost == 1; }));
  EXPECT_EQ(c.stats().held, 0u);
}

TEST_P(stats_conformance, renewals_are_counted) {
  const client c = connect_with_ttl(300ms);
  mutex m(c, unique_name("renewed"));
  const lease held = m.acquire();
  EXPECT_TRUE(eventually([&] { return c.stats().renewed >= 2; }));
  EXPECT_GE(c.stats().renewal.count(), 2u);
}

TEST_P(stats_conformance, handing_over_inside_the_client_is_counted) {
  const client c = connect();
  const std::string name = unique_name("handover");
  mutex m(c, name);
  lease held = m.acquire();
  auto next = m.async_acquire();
  auto behind = m.async_acquire();
  ASSERT_TRUE(succeeded(held.release()));
  {
    const lease second = next.get();
  }
  {
    const lease third = behind.get();
  }
  EXPECT_EQ(c.stats().acquired, 3u);
  EXPECT_LE(c.stats().handed_over, 2u);
}

TEST_P(stats_conformance, a_quantile_bounds_its_durations) {
  histogram h;
  h.buckets[10] = 99;  // 512 ns to 1 us.
  h.buckets[20] = 1;   // 0.5 ms to 1 ms.
  EXPECT_EQ(h.count(), 100u);
  EXPECT_EQ(h.quantile(0.5), 1024ns);
  EXPECT_EQ(h.quantile(1.0), 1048576ns);
}

}  // namespace holdfast::testing
