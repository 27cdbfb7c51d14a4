#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(counting_semaphore_conformance, there_are_no_permits_before_somebody_sets_them) {
  counting_semaphore semaphore(connect(), unique_name("new"));
  EXPECT_EQ(semaphore.available(), 0);
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_EQ(semaphore.drain(), 0);
}

TEST_P(counting_semaphore_conformance, the_number_is_set_once) {
  const std::string name = unique_name("set");
  counting_semaphore ours(connect(), name);
  counting_semaphore theirs(connect(), name);
  EXPECT_TRUE(ours.try_set_permits(3));
  EXPECT_FALSE(theirs.try_set_permits(7));
  EXPECT_EQ(theirs.available(), 3);
  EXPECT_EQ(ours.drain(), 3);
  EXPECT_FALSE(ours.try_set_permits(5)) << "none left is not the same as never set";
}

TEST_P(counting_semaphore_conformance, releasing_without_setting_makes_permits) {
  const std::string name = unique_name("release-first");
  counting_semaphore semaphore(connect(), name);
  semaphore.release(2);
  EXPECT_EQ(semaphore.available(), 2);
  EXPECT_FALSE(semaphore.try_set_permits(9));
}

TEST_P(counting_semaphore_conformance, permits_are_taken_and_given) {
  const std::string name = unique_name("take");
  counting_semaphore ours(connect(), name);
  counting_semaphore theirs(connect(), name);
  ASSERT_TRUE(ours.try_set_permits(3));
  ours.acquire();
  EXPECT_TRUE(theirs.try_acquire(2));
  EXPECT_EQ(ours.available(), 0);
  EXPECT_FALSE(ours.try_acquire());
  theirs.release();
  EXPECT_TRUE(ours.try_acquire());
  ours.release(3);
  EXPECT_EQ(theirs.available(), 3);
}

TEST_P(counting_semaphore_conformance, several_are_taken_together_or_not_at_all) {
  counting_semaphore semaphore(connect(), unique_name("several"));
  ASSERT_TRUE(semaphore.try_set_permits(2));
  EXPECT_FALSE(semaphore.try_acquire(3));
  EXPECT_FALSE(semaphore.try_acquire_for(short_wait, 3));
  EXPECT_EQ(semaphore.available(), 2);
  // A timed-out wait has a second to be gone from the store; until then it is ahead.
  EXPECT_TRUE(semaphore.try_acquire_for(1s, 2));
}

TEST_P(counting_semaphore_conformance, timed_tries_wait_as_long_as_they_are_told) {
  counting_semaphore semaphore(connect(), unique_name("timed"));
  EXPECT_GE(time_taken([&] { EXPECT_FALSE(semaphore.try_acquire_for(100ms)); }), 100ms);
  const auto deadline = std::chrono::steady_clock::now() + 100ms;
  EXPECT_FALSE(semaphore.try_acquire_until(deadline));
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  semaphore.release(2);
  EXPECT_TRUE(semaphore.try_acquire_for(live_timeout));
  EXPECT_TRUE(semaphore.try_acquire_until(std::chrono::system_clock::now() + live_timeout));
}

TEST_P(counting_semaphore_conformance, a_try_whose_time_is_over_is_a_plain_try) {
  counting_semaphore semaphore(connect(), unique_name("over"));
  EXPECT_FALSE(semaphore.try_acquire_until(std::chrono::steady_clock::now() - 1s));
  EXPECT_FALSE(semaphore.try_acquire_for(-1s));
  semaphore.release(2);
  EXPECT_TRUE(semaphore.try_acquire_until(std::chrono::steady_clock::now() - 1s));
  EXPECT_TRUE(semaphore.try_acquire_for(-1s));
}

TEST_P(counting_semaphore_conformance, releasing_wakes_who_waits_in_another_client) {
  const std::string name = unique_name("wake");
  counting_semaphore ours(connect(), name);
  counting_semaphore theirs(connect(), name);
  auto waits = std::async(std::launch::async, [&] { theirs.acquire(2); });
  EXPECT_EQ(waits.wait_for(short_wait), std::future_status::timeout);
  ours.release();
  EXPECT_EQ(waits.wait_for(short_wait), std::future_status::timeout) << "it wants two";
  ours.release();
  EXPECT_EQ(waits.wait_for(live_timeout), std::future_status::ready);
  EXPECT_EQ(ours.available(), 0);
}

TEST_P(counting_semaphore_conformance, one_big_release_wakes_everybody_there_is_enough_for) {
  const std::string name = unique_name("wake-all");
  counting_semaphore ours(connect(), name);
  counting_semaphore theirs(connect(), name);
  std::vector<operation<void>> waits;
  for (int i = 0; i < 6; ++i) waits.push_back((i % 2 == 0 ? ours : theirs).async_acquire());
  ours.release(6);
  for (auto& wait : waits) wait.get();
  EXPECT_EQ(ours.available(), 0);
}

TEST_P(counting_semaphore_conformance, adding_and_setting_wake_who_waits) {
  const std::string name = unique_name("wake-set");
  counting_semaphore ours(connect(), name);
  counting_semaphore theirs(connect(), name);
  auto first = theirs.async_acquire();
  ASSERT_TRUE(ours.try_set_permits(1));
  first.get();
  auto second = theirs.async_acquire();
  ours.add_permits(1);
  second.get();
  EXPECT_EQ(ours.available(), 0);
}

TEST_P(counting_semaphore_conformance, stopping_ends_a_wait_and_takes_nothing) {
  const std::string name = unique_name("cancelled");
  counting_semaphore semaphore(connect(), name);
  std::stop_source stop;
  auto ended = std::async(std::launch::async,
                          [&] { return throws(errc::cancelled, [&] { semaphore.acquire(1, stop.get_token()); }); });
  EXPECT_EQ(ended.wait_for(short_wait), std::future_status::timeout);
  stop.request_stop();
  EXPECT_TRUE(ended.get());
  EXPECT_TRUE(throws(errc::cancelled, [&] { semaphore.acquire(1, stop.get_token()); })) << "stopped already";
  semaphore.release();
  EXPECT_EQ(semaphore.available(), 1);
}

TEST_P(counting_semaphore_conformance, a_timed_out_or_abandoned_wait_takes_nothing_later) {
  counting_semaphore semaphore(connect(), unique_name("left"));
  EXPECT_TRUE(throws(errc::timed_out, [&] { semaphore.async_acquire({.wait = short_wait}).get(); }));
  EXPECT_FALSE(semaphore.try_acquire_within(short_wait));
  {
    auto abandoned = semaphore.async_acquire();
  }
  std::ptrdiff_t left = 4;
  EXPECT_TRUE(eventually([&] {
    semaphore.release();
    ++left;
    return semaphore.try_acquire();
  }));
  semaphore.release(5);
  // A try of the abandoned wait that was under way when it ended may still take a permit: it gives it back.
  EXPECT_TRUE(eventually([&] { return !eventually([&] { return semaphore.available() != left; }, short_wait); }));
}

TEST_P(counting_semaphore_conformance, draining_takes_all_and_tells_how_many) {
  counting_semaphore semaphore(connect(), unique_name("drain"));
  semaphore.release(5);
  EXPECT_EQ(semaphore.drain(), 5);
  EXPECT_EQ(semaphore.available(), 0);
  EXPECT_EQ(semaphore.drain(), 0);
}

TEST_P(counting_semaphore_conformance, permits_can_be_taken_away_below_zero) {
  counting_semaphore semaphore(connect(), unique_name("negative"));
  ASSERT_TRUE(semaphore.try_set_permits(2));
  semaphore.add_permits(-5);
  EXPECT_EQ(semaphore.available(), -3);
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release(3);
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.add_permits(1);
  EXPECT_TRUE(semaphore.try_acquire());
}

TEST_P(counting_semaphore_conformance, negative_amounts_are_refused) {
  counting_semaphore semaphore(connect(), unique_name("refused"));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { semaphore.acquire(-1); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.try_acquire(-1); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.try_acquire_for(1s, -1); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { semaphore.async_acquire({}, {}, -1).get(); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { semaphore.release(-1); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return semaphore.try_set_permits(-1); }));
  EXPECT_EQ(semaphore.available(), 0);
}

TEST_P(counting_semaphore_conformance, the_permits_outlive_clients_and_crashes) {
  const std::string name = unique_name("outlive");
  {
    ASSERT_TRUE(counting_semaphore(connect(), name).try_set_permits(3));
  }
  EXPECT_EQ(counting_semaphore(connect(), name).available(), 3);
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  holder_process other = start_holder();
  ASSERT_EQ(other.ask("take " + name + " 2"), "ok");
  other.kill();
  EXPECT_EQ(counting_semaphore(connect(), name).available(), 1) << "permits without owners do not come back";
}

TEST_P(counting_semaphore_conformance, releasing_wakes_another_process) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string name = unique_name("processes");
  holder_process other = start_holder();
  other.tell("take " + name + " 2");
  EXPECT_FALSE(other.reply_within(short_wait));
  counting_semaphore(connect(), name).release(2);
  EXPECT_EQ(other.reply(), "ok");
}

TEST_P(counting_semaphore_conformance, no_permit_is_lost_or_made_up_under_contention) {
  const client one = connect();
  const client two = connect();
  const std::string name = unique_name("exact");
  ASSERT_TRUE(counting_semaphore(one, name).try_set_permits(3));
  std::atomic<int> inside{0};
  std::atomic<bool> too_many{false};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        counting_semaphore semaphore(t % 2 == 0 ? one : two, name);
        for (int i = 0; i < 15; ++i) {
          semaphore.acquire();
          if (++inside > 3) too_many = true;
          std::this_thread::yield();
          --inside;
          semaphore.release();
        }
      });
    }
  }
  EXPECT_FALSE(too_many);
  EXPECT_EQ(counting_semaphore(one, name).available(), 3);
}

}  // namespace holdfast::testing
