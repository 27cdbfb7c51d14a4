#include <holdfast/testing/conformance.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(permit_semaphore_conformance, no_more_permits_than_there_are) {
  const client c = connect();
  const std::string name = unique_name("bound");
  permit_semaphore ours(c, name, 3);
  permit_semaphore theirs(connect(), name, 3);
  EXPECT_EQ(ours.limit(), 3u);
  lease one = ours.acquire();
  const lease two = theirs.acquire({.wait = live_timeout});
  const lease three = ours.acquire({.wait = live_timeout});
  EXPECT_FALSE(ours.try_acquire());
  EXPECT_FALSE(theirs.try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs.acquire({.wait = short_wait}); }));
  ASSERT_TRUE(succeeded(one.release()));
  EXPECT_TRUE(theirs.try_acquire({.wait = live_timeout}));
}

TEST_P(permit_semaphore_conformance, each_permit_has_an_id_and_a_token_of_its_own) {
  permit_semaphore semaphore(connect(), unique_name("ids"), 4);
  std::set<std::string> ids;
  std::vector<lease> held;
  fencing_token last = 0;
  for (int i = 0; i < 4; ++i) {
    held.push_back(semaphore.acquire());
    EXPECT_TRUE(ids.insert(held.back().id()).second);
    EXPECT_GT(held.back().token(), last);
    last = held.back().token();
  }
}

TEST_P(permit_semaphore_conformance, several_permits_come_together_or_not_at_all) {
  const client c = connect();
  const std::string name = unique_name("several");
  permit_semaphore ours(c, name, 4);
  permit_semaphore theirs(connect(), name, 4);
  lease two = ours.acquire({}, {}, 2);
  EXPECT_FALSE(theirs.try_acquire({}, {}, 3));
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs.acquire({.wait = short_wait}, {}, 3); }));
  const lease rest = theirs.acquire({.wait = live_timeout}, {}, 2);
  EXPECT_FALSE(ours.try_acquire());
  const entry seen = look_at(c, name);
  EXPECT_EQ(seen.kind, "permit_semaphore");
  ASSERT_EQ(seen.holders.size(), 2u);
  EXPECT_EQ(seen.holders[0].permits, 2u);
  ASSERT_TRUE(succeeded(two.release()));
  EXPECT_TRUE(ours.try_acquire({.wait = live_timeout}, {}, 2)) << "both come back with one release";
}

TEST_P(permit_semaphore_conformance, a_waiter_for_several_gets_them_when_enough_are_back) {
  const client c = connect();
  const std::string name = unique_name("several-wait");
  permit_semaphore ours(c, name, 2);
  permit_semaphore theirs(connect(), name, 2);
  lease one = ours.acquire();
  lease two = ours.acquire();
  auto both = theirs.async_acquire({}, {}, 2);
  ASSERT_TRUE(waiting(c, name, 1));
  ASSERT_TRUE(succeeded(one.release()));
  EXPECT_FALSE(eventually([&] { return both.ready(); }, short_wait));
  ASSERT_TRUE(succeeded(two.release()));
  EXPECT_TRUE(both.get().valid());
}

TEST_P(permit_semaphore_conformance, impossible_numbers_are_refused) {
  const client c = connect();
  const std::string name = unique_name("numbers");
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { permit_semaphore none(c, name, 0); }));
  permit_semaphore semaphore(c, name, 2);
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.acquire({}, {}, 3); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.try_acquire({}, {}, 3); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.async_acquire({}, {}, 3).get(); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.acquire({}, {}, 0); }));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(permit_semaphore_conformance, another_limit_is_refused_while_permits_are_in_use) {
  const client c = connect();
  const std::string name = unique_name("limit");
  permit_semaphore two(c, name, 2);
  permit_semaphore three(connect(), name, 3);
  {
    const lease held = two.acquire();
    EXPECT_TRUE(throws(errc::rejected, [&] { return three.try_acquire(); }));
    EXPECT_TRUE(throws(errc::rejected, [&] { return three.acquire({.wait = live_timeout}); }));
    EXPECT_EQ(waiters(c, name), 0u);
  }
  ASSERT_TRUE(nothing_left(c, name));
  EXPECT_TRUE(three.try_acquire()) << "nobody uses it any more: the number may change";
}

TEST_P(permit_semaphore_conformance, releasing_wakes_as_many_as_there_is_room_for) {
  const client c = connect();
  const std::string name = unique_name("room");
  permit_semaphore ours(c, name, 2);
  permit_semaphore theirs(connect(), name, 2);
  lease both = ours.acquire({}, {}, 2);
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 3; ++i) waits.push_back(theirs.async_acquire());
  ASSERT_TRUE(waiting(c, name, 3));
  ASSERT_TRUE(succeeded(both.release()));
  const auto ready = [&] { return std::count_if(waits.begin(), waits.end(), [](auto& w) { return w.ready(); }); };
  EXPECT_TRUE(eventually([&] { return ready() == 2; }));
  EXPECT_FALSE(eventually([&] { return ready() > 2; }, short_wait));
}

TEST_P(permit_semaphore_conformance, an_evicted_semaphore_gives_all_permits_back) {
  const client c = connect_with_ttl(1500ms);
  const std::string name = unique_name("evicted");
  permit_semaphore semaphore(c, name, 2);
  const lease one = semaphore.acquire();
  const lease two = semaphore.acquire();
  store().lose(name);
  EXPECT_TRUE(gets_lost(one));
  EXPECT_TRUE(gets_lost(two));
  EXPECT_TRUE(permit_semaphore(connect(), name, 2).try_acquire({.wait = live_timeout}, {}, 2));
}

TEST_P(permit_semaphore_conformance, an_expired_permit_comes_back) {
  const std::string name = unique_name("expired");
  permit_semaphore ours(connect(), name, 1);
  permit_semaphore theirs(connect(), name, 1);
  const lease held = ours.acquire({.ttl = 200ms});
  EXPECT_TRUE(theirs.try_acquire({.wait = live_timeout}));
  EXPECT_FALSE(held.valid());
}

TEST_P(permit_semaphore_conformance, a_crash_gives_permits_back) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const client c = connect();
  const std::string name = unique_name("crash");
  holder_process other = start_holder(store().notices_death_at_once() ? 30s : 6s);
  other.granted("acquire permits " + name + " of=3 permits=2");
  permit_semaphore semaphore(c, name, 3);
  EXPECT_FALSE(semaphore.try_acquire({}, {}, 2));
  const lease one = semaphore.acquire();
  other.kill();
  EXPECT_TRUE(semaphore.try_acquire({.wait = store().notices_death_at_once() ? 10s : 60s}, {}, 2));
}

TEST_P(permit_semaphore_conformance, never_more_inside_than_permits) {
  const client c = connect();
  const client other = connect();
  const std::string name = unique_name("inside");
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> entries{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        permit_semaphore semaphore(t % 2 == 0 ? c : other, name, 3);
        for (int i = 0; i < 20; ++i) {
          const lease held = semaphore.acquire();
          const int now = ++inside;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          std::this_thread::yield();
          ++entries;
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(entries, 160);
  EXPECT_LE(most, 3);
  EXPECT_TRUE(nothing_left(c, name));
}

}  // namespace holdfast::testing
