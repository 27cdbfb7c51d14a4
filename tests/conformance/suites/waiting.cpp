#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <future>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// "In time" on a machine that does other things too.
constexpr auto soon = 5s;

}  // namespace

TEST_P(waiting_conformance, trying_does_not_wait) {
  const std::string name = unique_name("try");
  auto ours = make(connect(), name);
  const lease held = ours->acquire();
  auto theirs = make(connect(), name);
  const auto taken = time_taken([&] { EXPECT_FALSE(theirs->try_acquire()); });
  EXPECT_LT(taken, soon);
}

TEST_P(waiting_conformance, a_timed_wait_ends_in_time_and_not_before) {
  const std::string name = unique_name("timed");
  auto ours = make(connect(), name);
  const lease held = ours->acquire();
  auto theirs = make(connect(), name);
  const auto taken =
      time_taken([&] { EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs->acquire({.wait = 150ms}); })); });
  EXPECT_GE(taken, 150ms);
  EXPECT_LT(taken, soon);
}

TEST_P(waiting_conformance, try_acquire_waits_as_long_as_it_is_told) {
  const std::string name = unique_name("try-wait");
  auto ours = make(connect(), name);
  const lease held = ours->acquire();
  auto theirs = make(connect(), name);
  const auto taken = time_taken([&] { EXPECT_FALSE(theirs->try_acquire({.wait = 150ms})); });
  EXPECT_GE(taken, 150ms);
  EXPECT_LT(taken, soon);
}

TEST_P(waiting_conformance, timed_try_locks_wait_as_long_as_they_are_told) {
  const std::string name = unique_name("try-lock");
  auto ours = make(connect(), name);
  if (!ours->lockable()) GTEST_SKIP() << "no std face";
  ours->lock();
  auto theirs = make(connect(), name);
  EXPECT_GE(time_taken([&] { EXPECT_FALSE(theirs->try_lock_for(120ms)); }), 120ms);
  const auto deadline = std::chrono::steady_clock::now() + 120ms;
  EXPECT_FALSE(theirs->try_lock_until(deadline));
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  ours->unlock();
}

TEST_P(waiting_conformance, a_try_lock_whose_time_is_over_is_a_plain_try) {
  const std::string name = unique_name("over");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  if (!ours->lockable()) GTEST_SKIP() << "no std face";
  EXPECT_TRUE(ours->try_lock_for(-1s));
  EXPECT_FALSE(theirs->try_lock_for(-1s));
  ours->unlock();
  EXPECT_TRUE(theirs->try_lock_until(std::chrono::steady_clock::now() - 1h));
  theirs->unlock();
}

TEST_P(waiting_conformance, waiting_no_time_at_all_still_gets_a_free_lock) {
  auto lock = make(connect(), unique_name("zero"));
  EXPECT_TRUE(lock->acquire({.wait = 0s}).valid());
}

TEST_P(waiting_conformance, the_longest_of_waits_does_not_overflow) {
  const std::string name = unique_name("for-ever");
  auto ours = make(connect(), name);
  lease held = ours->acquire({.wait = std::chrono::hours::max()});
  auto theirs = make(connect(), name);
  auto next = theirs->async_acquire({.wait = std::chrono::hours::max()});
  ASSERT_TRUE(waiting(connect(), name, 1));
  EXPECT_FALSE(next.ready());
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST_P(waiting_conformance, a_timed_wait_ends_with_the_lock_if_it_comes_free_in_time) {
  const std::string name = unique_name("in-time");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  auto got = std::async(std::launch::async, [&] { return theirs->try_acquire({.wait = live_timeout}); });
  ASSERT_TRUE(waiting(watcher, name, 1));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(got.get().has_value());
}

TEST_P(waiting_conformance, a_timed_out_wait_leaves_nothing_in_the_store) {
  const std::string name = unique_name("timed-out");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  {
    const lease held = ours->acquire();
    EXPECT_FALSE(theirs->try_acquire({.wait = short_wait}));
    EXPECT_TRUE(nobody_waits(watcher, name));
  }
  EXPECT_TRUE(nothing_left(watcher, name));
  EXPECT_TRUE(ours->try_acquire()) << "the lock went to a wait that was over";
}

TEST_P(waiting_conformance, stopping_ends_a_wait_and_leaves_nothing_in_the_store) {
  const std::string name = unique_name("cancelled");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  std::stop_source stop;
  lease held = ours->acquire();
  auto ended = std::async(std::launch::async, [&] {
    return throws(errc::cancelled, [&] { return theirs->acquire({.wait = live_timeout}, stop.get_token()); });
  });
  ASSERT_TRUE(waiting(watcher, name, 1));
  stop.request_stop();
  ASSERT_EQ(ended.wait_for(soon), std::future_status::ready);
  EXPECT_TRUE(ended.get());
  EXPECT_TRUE(nobody_waits(watcher, name));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(waiting_conformance, stopping_ends_try_acquire_with_an_error_not_with_contention) {
  const std::string name = unique_name("cancelled-try");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  std::stop_source stop;
  const lease held = ours->acquire();
  auto ended = std::async(std::launch::async, [&] {
    return throws(errc::cancelled, [&] { return theirs->try_acquire({.wait = live_timeout}, stop.get_token()); });
  });
  ASSERT_TRUE(waiting(watcher, name, 1));
  stop.request_stop();
  EXPECT_TRUE(ended.get());
}

TEST_P(waiting_conformance, stopping_ends_a_wait_behind_a_thread_of_the_same_client) {
  const std::string name = unique_name("cancelled-local");
  const client c = connect();
  auto lock = make(c, name);
  auto other = make(c, name);
  std::stop_source stop;
  lease held = lock->acquire();
  // Released as they come: which of the two is first is not promised.
  std::atomic<int> served = 0;
  const auto serve = [&served](result<lease> got) {
    if (got && got->release()) ++served;
  };
  other->async_acquire().then(serve);
  auto cancelled = other->async_acquire({}, stop.get_token());
  other->async_acquire().then(serve);
  stop.request_stop();
  EXPECT_TRUE(throws(errc::cancelled, [&] { return cancelled.get(); }));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(eventually([&] { return served == 2; }));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(waiting_conformance, a_stop_token_that_is_stopped_already_ends_the_wait_at_once) {
  const std::string name = unique_name("stopped");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  std::stop_source stop;
  stop.request_stop();
  const lease held = ours->acquire();
  EXPECT_TRUE(throws(errc::cancelled, [&] { return theirs->acquire({}, stop.get_token()); }));
  EXPECT_TRUE(throws(errc::cancelled, [&] { return theirs->async_acquire({}, stop.get_token()).get(); }));
  EXPECT_TRUE(nobody_waits(watcher, name));
}

TEST_P(waiting_conformance, stopping_after_the_grant_changes_nothing) {
  auto lock = make(connect(), unique_name("stopped-late"));
  std::stop_source stop;
  lease held = lock->acquire({}, stop.get_token());
  stop.request_stop();
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(succeeded(held.release()));
}

TEST_P(waiting_conformance, many_waits_that_end_in_every_way_leave_nothing_in_the_store) {
  const std::string name = unique_name("every-way");
  const client watcher = connect();
  const client c = connect();
  auto ours = make(watcher, name);
  auto theirs = make(c, name);
  lease held = ours->acquire();
  std::stop_source stop;
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 10; ++i) {
    waits.push_back(theirs->async_acquire({.wait = 20ms}));
    waits.push_back(theirs->async_acquire({}, stop.get_token()));
    static_cast<void>(theirs->async_acquire());  // Abandoned at once.
  }
  stop.request_stop();
  for (auto& wait : waits) EXPECT_THROW(static_cast<void>(wait.get()), error);
  EXPECT_TRUE(nobody_waits(watcher, name));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(nothing_left(watcher, name));
}

}  // namespace holdfast::testing
