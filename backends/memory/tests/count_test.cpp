#include "memory_fixture.hpp"

namespace holdfast::memory_tests {
namespace {

using op = spi::count_request::op;

class memory_counts : public memory_store {
 protected:
  static spi::count_request step(op what, std::int64_t amount, spi::kind kind = spi::kind::semaphore) {
    return {"n", kind, what, amount, spi::owner_id::random()};
  }
  static spi::claim taking(std::uint32_t permits) {
    auto c = claim_of("n", spi::kind::semaphore);
    c.permits = permits;
    return c;
  }
  static spi::claim passing() { return claim_of("n", spi::kind::latch); }
  std::int64_t value(spi::kind kind = spi::kind::semaphore) { return one.count(step(op::get, 0, kind)).value().value; }
};

TEST_F(memory_counts, permits_are_set_once) {
  EXPECT_EQ(value(), 0);
  EXPECT_TRUE(one.count(step(op::set_if_unset, 3)).value().done);
  const auto again = two.count(step(op::set_if_unset, 9)).value();
  EXPECT_FALSE(again.done);
  EXPECT_EQ(again.value, 3);
}

TEST_F(memory_counts, permits_are_taken_and_given) {
  one.count(step(op::set_if_unset, 3));
  one.take(taking(2));
  EXPECT_TRUE(two.is_busy(taking(2), false));
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(two.count(step(op::add, 2)).value().value, 3);
  EXPECT_EQ(two.count(step(op::drain, 0)).value().value, 3);
  EXPECT_EQ(value(), 0);
}

TEST_F(memory_counts, draining_below_zero_takes_nothing) {
  one.count(step(op::add, -2));
  EXPECT_EQ(one.count(step(op::drain, 0)).value().value, 0);
  EXPECT_EQ(value(), -2);
}

TEST_F(memory_counts, a_step_sent_again_is_not_taken_again) {
  const auto add = step(op::add, 5);
  EXPECT_EQ(one.count(add).value().value, 5);
  EXPECT_EQ(one.count(add).value().value, 5);
  EXPECT_EQ(value(), 5);
  const auto claim = taking(2);
  one.take(claim);
  one.take(claim);
  EXPECT_EQ(value(), 3);
}

TEST_F(memory_counts, a_count_that_would_overflow_is_refused) {
  one.count(step(op::set_if_unset, INT64_MAX));
  EXPECT_EQ(one.count(step(op::add, 1)).error().code, errc::invalid_argument);
}

TEST_F(memory_counts, those_in_line_get_permits_in_order) {
  const auto big = taking(2), small = taking(1);
  ASSERT_TRUE(one.is_busy(big));
  ASSERT_TRUE(two.is_busy(small));
  answer<spi::wake> big_woken, small_woken;
  one.store->watch(big, big_woken.slot());
  two.store->watch(small, small_woken.slot());
  two.count(step(op::add, 1));
  EXPECT_FALSE(big_woken.came());
  EXPECT_FALSE(small_woken.came());
  two.count(step(op::add, 1));
  EXPECT_TRUE(was_granted(big_woken));
  EXPECT_FALSE(small_woken.came());
  two.count(step(op::add, 1));
  EXPECT_TRUE(was_granted(small_woken));
  EXPECT_EQ(value(), 0);
}

TEST_F(memory_counts, a_grant_before_the_watch_is_not_missed) {
  const auto claim = taking(1);
  ASSERT_TRUE(one.is_busy(claim));
  two.count(step(op::add, 1));
  answer<spi::wake> woken;
  one.store->watch(claim, woken.slot());
  EXPECT_TRUE(was_granted(woken));
  EXPECT_EQ(value(), 0);
}

TEST_F(memory_counts, leaving_after_an_unwanted_grant_gives_the_permits_back) {
  const auto claim = taking(2), next = taking(2);
  ASSERT_TRUE(one.is_busy(claim));
  two.count(step(op::add, 2));
  ASSERT_TRUE(two.is_busy(next));
  EXPECT_TRUE(one.leave(claim));
  EXPECT_FALSE(one.leave(claim));
  answer<spi::wake> woken;
  two.store->watch(next, woken.slot());
  EXPECT_TRUE(was_granted(woken));
}

TEST_F(memory_counts, a_latch_is_open_until_set_and_again_at_zero) {
  one.take(passing());
  EXPECT_TRUE(one.count(step(op::set_if_unset, 2, spi::kind::latch)).value().done);
  EXPECT_FALSE(one.count(step(op::set_if_unset, 5, spi::kind::latch)).value().done);
  const auto first = passing(), second = passing();
  ASSERT_TRUE(one.is_busy(first));
  ASSERT_TRUE(two.is_busy(second));
  answer<spi::wake> woken;
  one.store->watch(first, woken.slot());
  one.count(step(op::subtract, 1, spi::kind::latch));
  EXPECT_FALSE(woken.came());
  EXPECT_EQ(one.count(step(op::subtract, 5, spi::kind::latch)).value().value, 0);
  EXPECT_TRUE(was_granted(woken));
  // Set again before the second one looked: it passed all the same.
  one.count(step(op::set_if_unset, 1, spi::kind::latch));
  answer<spi::wake> late;
  two.store->watch(second, late.slot());
  EXPECT_TRUE(was_granted(late));
  EXPECT_TRUE(two.is_busy(passing(), false));
}

TEST_F(memory_counts, numbers_and_locks_of_one_name_are_told_apart) {
  one.count(step(op::add, 1));
  EXPECT_EQ(two.enter(mutex_claim("n")).error().code, errc::rejected);
  EXPECT_EQ(two.count(step(op::get, 0, spi::kind::latch)).error().code, errc::rejected);
  one.take(mutex_claim("m"));
  auto on_mutex = step(op::get, 0);
  on_mutex.name = "m";
  EXPECT_EQ(two.count(on_mutex).error().code, errc::rejected);
}

TEST_F(memory_counts, an_open_latch_leaves_its_name_free) {
  one.take(passing());
  two.take(mutex_claim("n"));
}

TEST_F(memory_counts, waiters_are_shown_and_go_with_their_client) {
  {
    member third(clock, own_url(), "third");
    ASSERT_TRUE(third.is_busy(taking(3)));
    const auto shown = one.inspect();
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0].kind, "counting_semaphore");
    EXPECT_EQ(shown[0].waiters.at(0).client_name, "third");
    EXPECT_EQ(shown[0].waiters.at(0).permits, 3u);
  }
  EXPECT_TRUE(one.inspect().empty());
}

}  // namespace
}  // namespace holdfast::memory_tests
