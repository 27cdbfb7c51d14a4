#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(latch_conformance, a_latch_that_was_never_set_is_open) {
  latch gate(connect(), unique_name("new"));
  EXPECT_EQ(gate.count(), 0);
  EXPECT_TRUE(gate.try_wait());
  gate.wait();
  EXPECT_TRUE(gate.wait_for(0s));
  gate.async_wait().get();
}

TEST_P(latch_conformance, the_count_is_set_only_while_it_is_zero) {
  const std::string name = unique_name("set");
  latch ours(connect(), name);
  latch theirs(connect(), name);
  EXPECT_TRUE(ours.try_set_count(2));
  EXPECT_FALSE(theirs.try_set_count(5));
  EXPECT_EQ(theirs.count(), 2);
  theirs.count_down(2);
  EXPECT_TRUE(ours.try_set_count(3)) << "after zero it may be set again";
  EXPECT_EQ(theirs.count(), 3);
}

TEST_P(latch_conformance, counting_down_opens_it_at_zero) {
  latch gate(connect(), unique_name("open"));
  ASSERT_TRUE(gate.try_set_count(3));
  EXPECT_FALSE(gate.try_wait());
  gate.count_down();
  EXPECT_EQ(gate.count(), 2);
  EXPECT_FALSE(gate.try_wait());
  gate.count_down(2);
  EXPECT_TRUE(gate.try_wait());
}

TEST_P(latch_conformance, the_count_never_goes_below_zero) {
  latch gate(connect(), unique_name("floor"));
  gate.count_down();
  EXPECT_EQ(gate.count(), 0);
  ASSERT_TRUE(gate.try_set_count(2));
  gate.count_down(10);
  EXPECT_EQ(gate.count(), 0);
}

TEST_P(latch_conformance, timed_waits_last_as_long_as_they_are_told) {
  latch gate(connect(), unique_name("timed"));
  ASSERT_TRUE(gate.try_set_count(1));
  EXPECT_GE(time_taken([&] { EXPECT_FALSE(gate.wait_for(100ms)); }), 100ms);
  const auto deadline = std::chrono::steady_clock::now() + 100ms;
  EXPECT_FALSE(gate.wait_until(deadline));
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  EXPECT_TRUE(throws(errc::timed_out, [&] { gate.async_wait({.wait = short_wait}).get(); }));
  EXPECT_FALSE(gate.wait_for(-1s));
  gate.count_down();
  EXPECT_TRUE(gate.wait_for(-1s));
  EXPECT_TRUE(gate.wait_until(std::chrono::system_clock::now() - 1s));
}

TEST_P(latch_conformance, zero_lets_everybody_through) {
  const std::string name = unique_name("everybody");
  const client c = connect();
  latch ours(c, name);
  latch theirs(connect(), name);
  ASSERT_TRUE(ours.try_set_count(2));
  std::vector<operation<void>> waits;
  for (int i = 0; i < 10; ++i) waits.push_back((i % 2 == 0 ? ours : theirs).async_wait());
  auto blocked = std::async(std::launch::async, [&] { theirs.wait(); });
  ours.count_down();
  EXPECT_EQ(blocked.wait_for(short_wait), std::future_status::timeout);
  for (auto& wait : waits) EXPECT_FALSE(wait.ready());
  theirs.count_down();
  for (auto& wait : waits) wait.get();
  EXPECT_EQ(blocked.wait_for(live_timeout), std::future_status::ready);
}

TEST_P(latch_conformance, stopping_ends_a_wait) {
  latch gate(connect(), unique_name("cancelled"));
  ASSERT_TRUE(gate.try_set_count(1));
  std::stop_source stop;
  auto ended =
      std::async(std::launch::async, [&] { return throws(errc::cancelled, [&] { gate.wait(stop.get_token()); }); });
  EXPECT_EQ(ended.wait_for(short_wait), std::future_status::timeout);
  stop.request_stop();
  EXPECT_TRUE(ended.get());
  EXPECT_TRUE(throws(errc::cancelled, [&] { return gate.wait_within(live_timeout, stop.get_token()); }));
}

TEST_P(latch_conformance, threads_arrive_and_wait_for_each_other) {
  const std::string name = unique_name("arrive");
  const client c = connect();
  ASSERT_TRUE(latch(c, name).try_set_count(4));
  std::atomic<int> arrived{0};
  std::atomic<bool> early{false};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        latch gate(c, name);
        ++arrived;
        gate.arrive_and_wait();
        if (arrived != 4) early = true;
      });
    }
  }
  EXPECT_FALSE(early);
}

TEST_P(latch_conformance, negative_amounts_are_refused) {
  latch gate(connect(), unique_name("refused"));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return gate.try_set_count(-1); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { gate.count_down(-1); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { gate.arrive_and_wait(-1); }));
  EXPECT_EQ(gate.count(), 0);
}

TEST_P(latch_conformance, the_count_outlives_the_clients) {
  const std::string name = unique_name("outlive");
  {
    ASSERT_TRUE(latch(connect(), name).try_set_count(4));
  }
  {
    latch(connect(), name).count_down();
  }
  EXPECT_EQ(latch(connect(), name).count(), 3);
}

TEST_P(latch_conformance, processes_wait_for_each_other) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string name = unique_name("processes");
  latch gate(connect(), name);
  ASSERT_TRUE(gate.try_set_count(3));
  holder_process waits = start_holder();
  holder_process counts = start_holder();
  waits.tell("wait " + name);
  EXPECT_EQ(counts.ask("count_down " + name + " 2"), "ok");
  EXPECT_FALSE(waits.reply_within(short_wait));
  gate.count_down();
  EXPECT_EQ(waits.reply(), "open");
  EXPECT_TRUE(gate.try_wait());
}

TEST_P(latch_conformance, a_killed_process_does_not_keep_others_waiting_nor_let_them_through) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string name = unique_name("killed");
  latch gate(connect(), name);
  ASSERT_TRUE(gate.try_set_count(1));
  holder_process waits = start_holder();
  waits.tell("wait " + name);
  EXPECT_FALSE(waits.reply_within(short_wait));
  waits.kill();
  EXPECT_EQ(gate.count(), 1);
  auto ours = gate.async_wait();
  gate.count_down();
  ours.get();
}

}  // namespace holdfast::testing
