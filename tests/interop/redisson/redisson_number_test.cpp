#include "redisson_test.hpp"

#include <algorithm>

// Semaphores and latches: numbers without owners, whose waiters depend on messages alone.

namespace holdfast::testing {

using namespace std::chrono_literals;

class redisson_number : public redisson_release_test {
 protected:
  using clock = std::chrono::steady_clock;

  std::string ask(const std::string& command, const std::string& thread = "main") {
    java()->tell(thread, command);
    return reply(thread);
  }
  std::string reply(const std::string& thread = "main") {
    return java()->reply_within(thread, live_timeout).value_or("no reply");
  }
  /// `them` waits in Java; `release` here lets it go on.
  template <class Action>
  void expect_java_woken(const std::string& command, const std::string& answer, Action&& release) {
    java()->tell("waiter", command);
    EXPECT_FALSE(java()->reply_within("waiter", short_wait));
    const auto start = clock::now();
    release();
    EXPECT_EQ(reply("waiter"), answer);
    best_ = std::min(best_, clock::now() - start);
  }
  /// The other way round.
  void expect_us_woken(operation<void> waits, const std::string& release) {
    EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
    const auto start = clock::now();
    java()->tell("main", release);
    waits.get();
    best_ = std::min(best_, clock::now() - start);
    EXPECT_EQ(reply(), "ok");
  }
  void expect_prompt() {
    EXPECT_LT(std::chrono::duration_cast<std::chrono::milliseconds>(best_).count(), contest::promptly.count());
    best_ = clock::duration::max();
  }

 private:
  clock::duration best_ = clock::duration::max();
};

TEST_P(redisson_number, permits_of_a_semaphore_go_both_ways_and_wake_whoever_waits) {
  documented.emplace_back("my");
  counting_semaphore semaphore(ours(), "my");
  EXPECT_EQ(ask("set my 2"), "yes");
  EXPECT_FALSE(semaphore.try_set_permits(5));
  EXPECT_EQ(semaphore.drain(), 2);
  for (int i = 0; i < 3; ++i) expect_java_woken("take my 2", "ok", [&] { semaphore.release(2); });
  expect_prompt();
  for (int i = 0; i < 3; ++i) expect_us_woken(semaphore.async_acquire({}, {}, 2), "give my 2");
  expect_prompt();
  EXPECT_EQ(ask("available my"), "0");
  expect_java_woken("take my 3", "ok", [&] { semaphore.add_permits(3); });
  expect_us_woken(semaphore.async_acquire({}, {}, 1), "add my 1");
  EXPECT_EQ(semaphore.available(), 0);
}

TEST_P(redisson_number, a_semaphore_that_we_set_is_theirs_too) {
  documented.emplace_back("my");
  counting_semaphore semaphore(ours(), "my");
  java()->tell("waiter", "take my 1");
  EXPECT_FALSE(java()->reply_within("waiter", short_wait));
  EXPECT_TRUE(semaphore.try_set_permits(3));
  EXPECT_EQ(reply("waiter"), "ok");
  EXPECT_EQ(ask("set my 7"), "no");
  EXPECT_EQ(ask("available my"), "2");
  EXPECT_EQ(ask("drain my"), "2");
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_EQ(ask("take my 1 wait=50"), "busy");
}

TEST_P(redisson_number, a_waiter_at_a_semaphore_that_is_killed_takes_no_permit) {
  documented.emplace_back("my");
  server().command({"SET", "my", "0"});
  contender victim = our_contender({});
  victim.tell("take my 1");
  ASSERT_TRUE(eventually([&] { return server().command({"EXISTS", "holdfast_wait:{my}"}) == ":1"; }));
  victim.kill();
  expect_java_woken("take my 1", "ok", [&] { ask("give my 1", "giver"); });
  const auto doomed = start_java();
  doomed->tell("main", "take my 1");
  ASSERT_TRUE(eventually([&] {
    return server().command({"EVAL", "return redis.call('PUBSUB', 'NUMSUB', 'redisson_sc:{my}')[2]", "0"}) == ":1";
  }));
  counting_semaphore semaphore(ours(), "my");
  auto waits = semaphore.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  doomed->kill();
  semaphore.release();
  waits.get();
}

TEST_P(redisson_number, a_latch_opens_for_both_sides) {
  const latch gate(ours(), "my");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask("set_count my 2"), "yes");
    EXPECT_EQ(gate.count(), 2);
    expect_java_woken("wait my", "open", [&] { latch(ours(), "my").count_down(2); });
  }
  expect_prompt();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(latch(ours(), "my").try_set_count(1));
    EXPECT_EQ(ask("count_of my"), "1");
    expect_us_woken(gate.async_wait(), "count_down my");
  }
  expect_prompt();
  EXPECT_EQ(ask("wait my"), "open");
  EXPECT_TRUE(gate.try_wait());
}

TEST_P(redisson_number, expirable_permits_are_counted_together) {
  documented.emplace_back("my");
  documented.emplace_back("{my}:timeout");  // That of the permit without an end.
  EXPECT_EQ(ask("set_permits my 3"), "yes");
  permit_semaphore semaphore(ours(), "my", 3);
  lease two = semaphore.acquire({}, {}, 2);
  EXPECT_EQ(ask("available_permits my"), "1");
  EXPECT_TRUE(ask("acquire permits my").starts_with("granted "));
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_EQ(ask("acquire permits my wait=50", "other"), "busy");
  two.release().value();
  EXPECT_EQ(ask("available_permits my"), "2");
  EXPECT_EQ(ask("release permits my"), "ok");
  EXPECT_EQ(ask("available_permits my"), "3");
}

INSTANTIATE_TEST_SUITE_P(every, redisson_number, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
