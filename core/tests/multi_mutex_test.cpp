#include <holdfast/multi_mutex.hpp>

#include "support/group.hpp"

namespace holdfast::testing {
namespace {

TEST(multi_mutex, takes_all_members_in_the_common_order_whatever_the_order_given) {
  group g(3);
  multi_mutex all({*g.members[2], *g.members[0], *g.members[1]});
  g.store(1).enter.holds_back();
  pending_lease p(all.async_acquire());
  g.settle();
  EXPECT_EQ(g.store(0).enter.count(), 1U);
  EXPECT_EQ(g.store(1).enter.count(), 1U);
  EXPECT_EQ(g.store(2).enter.count(), 0U) << "one after the other";
  g.store(1).enter.complete(g.store(1).grant(g.store(1).enter.calls()[0].claim));
  g.settle();
  ASSERT_TRUE(p.ready());
  auto held = p.get();
  EXPECT_EQ(g.held(), 3U);
  EXPECT_TRUE(held.release());
  EXPECT_EQ(g.held(), 0U);
}

TEST(multi_mutex, none_is_invalid_and_one_twice_is_a_deadlock) {
  group g(1);
  mutex again(g[0].connected(), "x");
  const auto code_of = [](std::vector<std::reference_wrapper<mutex>> members) {
    try {
      multi_mutex m(std::move(members));
    } catch (const error& e) {
      return e.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(code_of({}), errc::invalid_argument);
  EXPECT_EQ(code_of({*g.members[0], again}), errc::deadlock);
}

TEST(multi_mutex, its_token_is_the_greatest_of_the_members) {
  group g(3);
  g.store(1).next_token = 5000;
  multi_mutex all(g.list());
  pending_lease p(all.async_acquire());
  g.settle();
  EXPECT_EQ(p.get().token().value(), 5000U);
}

TEST(multi_mutex, a_try_that_finds_one_busy_keeps_none) {
  group g(3);
  multi_mutex all(g.list());
  g.store(2).enter.answers(g.store(2).busy());
  pending_lease p(all.async_acquire({.wait = 0s}));
  g.settle();
  EXPECT_EQ(p.failure_code(), errc::timed_out);
  EXPECT_EQ(g.held(), 0U);
  EXPECT_EQ(g.store(0).leave.count(), 1U);
  EXPECT_EQ(g.store(1).leave.count(), 1U);
  EXPECT_EQ(g.store(2).leave.count(), 0U);
}

TEST(multi_mutex, a_member_that_refuses_ends_it_and_none_is_kept) {
  group g(3);
  multi_mutex all(g.list());
  g.store(2).enter.answers(refusal);
  pending_lease p(all.async_acquire());
  g.settle();
  EXPECT_EQ(p.failure_code(), errc::rejected);
  EXPECT_EQ(g.held(), 0U);
}

TEST(multi_mutex, a_dead_member_is_unavailable_and_none_is_kept) {
  group g(2, {.request_timeout = 1s});
  multi_mutex all(g.list());
  g.store(1).enter.otherwise([](const auto&) { return result<spi::entry_result>(silent); });
  pending_lease p(all.async_acquire());
  g.advance(3s);
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.failure_code(), errc::unavailable);
  EXPECT_EQ(g.held(), 0U);
}

TEST(multi_mutex, a_deadline_drops_what_was_taken_and_what_comes_late) {
  group g(3);
  multi_mutex all(g.list());
  g.store(1).enter.holds_back();
  pending_lease p(all.async_acquire({.wait = 1s}));
  g.advance(1s);
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.failure_code(), errc::unavailable) << "a store that says nothing is not contention";
  EXPECT_EQ(g.held(), 0U);
  g.store(1).enter.complete(g.store(1).grant(g.store(1).enter.calls()[0].claim));
  g.settle();
  EXPECT_EQ(g.store(1).leave.count(), 1U);
  EXPECT_EQ(g.held(), 0U);
}

TEST(multi_mutex, cancelling_drops_what_was_taken) {
  group g(2);
  multi_mutex all(g.list());
  g.store(1).enter.answers(g.store(1).busy());
  std::stop_source stop;
  pending_lease p(all.async_acquire({}, stop.get_token()));
  g.settle();
  EXPECT_EQ(g.held(), 1U);
  stop.request_stop();
  g.settle();
  EXPECT_EQ(p.failure_code(), errc::cancelled);
  EXPECT_EQ(g.held(), 0U);
  EXPECT_EQ(g.store(1).leave.count(), 1U) << "out of the queue";
}

TEST(multi_mutex, abandoning_the_operation_drops_everything) {
  group g(2);
  multi_mutex all(g.list());
  g.store(1).enter.answers(g.store(1).busy());
  {
    auto unwanted = all.async_acquire();
    g.settle();
  }
  g.settle();
  EXPECT_EQ(g.held(), 0U);
  EXPECT_EQ(g.store(1).leave.count(), 1U);
}

TEST(multi_mutex, a_long_wait_while_holding_others_is_given_up_and_begun_again) {
  group g(2);
  multi_mutex all(g.list());
  g.store(1).enter.answers(g.store(1).busy());
  pending_lease p(all.async_acquire());
  g.settle();
  EXPECT_EQ(g.held(), 1U);
  g.advance(6s);
  EXPECT_EQ(g.store(0).enter.count(), 2U) << "so that two who see the order differently do not wait for ever";
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(g.held(), 2U);
  EXPECT_TRUE(p.get().release());
}

TEST(multi_mutex, the_loss_of_one_member_is_the_loss_of_all) {
  group g(3);
  multi_mutex all(g.list());
  pending_lease p(all.async_acquire());
  g.settle();
  auto held = p.get();
  const auto token = held.lost();
  EXPECT_TRUE(held.valid());
  g[1].engine->lost(g.store(1).enter.calls()[0].claim.id, loss::session_ended);
  EXPECT_FALSE(held.valid());
  g.settle();
  EXPECT_TRUE(token.stop_requested());
  EXPECT_EQ(held.loss_cause(), loss::session_ended);
  EXPECT_EQ(held.release().error().code, errc::lost);
  EXPECT_EQ(g.held(), 0U) << "the others are released all the same";
}

TEST(multi_mutex, malformed_options_and_a_stopped_token_are_outcomes_and_ask_nobody) {
  group g(2);
  multi_mutex all(g.list());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(pending_lease(all.async_acquire({.wait = -1s})).failure_code(), errc::invalid_argument);
  EXPECT_EQ(pending_lease(all.async_acquire({.ttl = 1ns})).failure_code(), errc::invalid_argument);
  EXPECT_EQ(pending_lease(all.async_acquire({}, stop.get_token())).failure_code(), errc::cancelled);
  EXPECT_EQ(g.store(0).enter.count(), 0U);
}

}  // namespace
}  // namespace holdfast::testing
