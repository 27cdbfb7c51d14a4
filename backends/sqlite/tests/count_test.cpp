#include "sqlite_fixture.hpp"

#include <limits>

namespace holdfast::sqlite_tests {

using count_test = sqlite_test;
using line = sqlite_client::line;
using op = spi::count_request::op;

constexpr auto semaphore = spi::kind::semaphore;
constexpr auto latch = spi::kind::latch;

spi::claim count_claim(std::string name, spi::kind kind, std::uint32_t permits = 1) {
  spi::claim c = mutex_claim(std::move(name));
  c.kind = kind;
  c.permits = permits;
  return c;
}

TEST_F(count_test, a_semaphore_is_set_once) {
  auto a = client();
  EXPECT_EQ(a->count("s", semaphore, op::get)->value, 0);
  EXPECT_TRUE(a->count("s", semaphore, op::set_if_unset, 3)->done);
  EXPECT_FALSE(a->count("s", semaphore, op::set_if_unset, 9)->done);
  EXPECT_EQ(a->count("s", semaphore, op::add, -5)->value, -2);
  EXPECT_EQ(a->count("s", semaphore, op::drain)->value, 0) << "there is nothing to take below zero";
  EXPECT_EQ(a->count("s", semaphore, op::add, 6)->value, 4);
  EXPECT_EQ(a->count("s", semaphore, op::drain)->value, 4);
  EXPECT_FALSE(a->count("s", semaphore, op::set_if_unset, 9)->done) << "drained is not unset";
}

TEST_F(count_test, draining_what_was_never_set_leaves_it_unset) {
  auto a = client();
  EXPECT_EQ(a->count("s", semaphore, op::drain)->value, 0);
  EXPECT_TRUE(a->count("s", semaphore, op::set_if_unset, 1)->done);
}

TEST_F(count_test, more_permits_than_a_number_holds_are_refused) {
  auto a = client();
  a->count("s", semaphore, op::set_if_unset, std::numeric_limits<std::int64_t>::max());
  const auto refused = a->count("s", semaphore, op::add, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::invalid_argument));
  EXPECT_EQ(a->count("s", semaphore, op::get)->value, std::numeric_limits<std::int64_t>::max());
}

TEST_F(count_test, a_step_sent_again_is_not_taken_again) {
  auto a = client();
  const auto id = spi::owner_id::random();
  EXPECT_EQ(a->count("s", semaphore, op::add, 2, id)->value, 2);
  EXPECT_EQ(a->count("s", semaphore, op::add, 2, id)->value, 2);
  EXPECT_EQ(a->count("s", semaphore, op::get)->value, 2);
  const auto c = count_claim("s", semaphore);
  EXPECT_TRUE(is_granted(a->enter(c)));
  EXPECT_TRUE(is_granted(a->enter(c)));
  EXPECT_EQ(a->count("s", semaphore, op::get)->value, 1);
}

TEST_F(count_test, permits_that_come_wake_the_first_in_line_and_it_wakes_the_next) {
  auto a = client();
  auto b = client();
  const auto one = count_claim("s", semaphore, 2);
  const auto two = count_claim("s", semaphore, 1);
  b->queue(one);
  b->queue(two);
  auto first = b->watch(one);
  auto second = b->watch(two);
  a->count("s", semaphore, op::add, 1);
  EXPECT_TRUE(is_busy(b->enter(two))) << "it would fit, but stands behind";
  a->count("s", semaphore, op::add, 2);
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(is_granted(b->enter(one)));
  EXPECT_TRUE(second.wait());
  EXPECT_TRUE(is_granted(b->enter(two)));
  EXPECT_EQ(a->count("s", semaphore, op::get)->value, 0);
}

TEST_F(count_test, who_only_tries_takes_what_the_first_in_line_cannot_use_yet) {
  auto a = client();
  a->count("s", semaphore, op::set_if_unset, 2);
  a->queue(count_claim("s", semaphore, 3));
  EXPECT_TRUE(is_busy(a->enter(count_claim("s", semaphore, 3), line::pass_by)));
  EXPECT_TRUE(is_granted(a->enter(count_claim("s", semaphore, 2), line::pass_by)));
  a->count("s", semaphore, op::add, 3);
  EXPECT_TRUE(is_busy(a->enter(count_claim("s", semaphore, 1), line::pass_by))) << "now it is another's turn";
}

TEST_F(count_test, who_leaves_after_the_grant_gives_it_back) {
  auto a = client();
  a->count("s", semaphore, op::set_if_unset, 2);
  const auto c = count_claim("s", semaphore, 2);
  EXPECT_TRUE(is_granted(a->enter(c)));
  EXPECT_TRUE(a->leave(c));
  EXPECT_FALSE(a->leave(c));
  EXPECT_EQ(a->count("s", semaphore, op::get)->value, 2);
}

TEST_F(count_test, who_leaves_the_line_lets_the_next_one_look) {
  auto a = client();
  auto b = client();
  a->count("s", semaphore, op::set_if_unset, 1);
  const auto big = count_claim("s", semaphore, 5);
  const auto small = count_claim("s", semaphore, 1);
  a->queue(big);
  b->queue(small);
  auto woken = b->watch(small);
  a->leave(big);
  EXPECT_TRUE(woken.wait());
  EXPECT_TRUE(is_granted(b->enter(small)));
}

TEST_F(count_test, a_latch_opens_at_zero_for_everybody_and_can_be_set_again) {
  auto a = client();
  auto b = client();
  EXPECT_TRUE(is_granted(a->enter(count_claim("l", latch))));
  EXPECT_TRUE(a->count("l", latch, op::set_if_unset, 3)->done);
  EXPECT_FALSE(a->count("l", latch, op::set_if_unset, 3)->done);
  const auto one = count_claim("l", latch);
  const auto two = count_claim("l", latch);
  a->queue(one);
  b->queue(two);
  auto first = a->watch(one);
  auto second = b->watch(two);
  EXPECT_EQ(a->count("l", latch, op::subtract, 2)->value, 1);
  EXPECT_FALSE(first.there());
  EXPECT_EQ(b->count("l", latch, op::subtract, 5)->value, 0);
  EXPECT_TRUE(std::holds_alternative<spi::granted>(first.wait().value()));
  EXPECT_TRUE(std::holds_alternative<spi::granted>(second.wait().value()));
  EXPECT_TRUE(a->inspect().empty());
  EXPECT_TRUE(a->count("l", latch, op::set_if_unset, 1)->done);
}

TEST_F(count_test, a_number_in_use_is_not_a_lock) {
  auto a = client();
  a->count("n", semaphore, op::set_if_unset, 1);
  const auto refused = a->enter(mutex_claim("n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::rejected));
  a->take(mutex_claim("m"));
  EXPECT_EQ(a->count("m", latch, op::set_if_unset, 1).error().code, make_error_code(errc::rejected));
  EXPECT_EQ(a->count("m", latch, op::get).error().code, make_error_code(errc::rejected));
}

}  // namespace holdfast::sqlite_tests
