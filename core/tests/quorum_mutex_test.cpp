#include <holdfast/quorum_mutex.hpp>

#include "support/group.hpp"

namespace holdfast::testing {
namespace {

void kill(scripted_store& store) {
  store.enter.otherwise([](const auto&) { return result<spi::entry_result>(silent); });
  store.leave.otherwise([](const auto&) { return result<bool>(silent); });
}
void occupy(scripted_store& store) {
  store.enter.otherwise([&store](const auto&) { return result<spi::entry_result>(store.busy()); });
}

TEST(quorum_mutex, is_there_with_a_majority_and_later_votes_join_it) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(2).enter.holds_back();
  pending_lease p(q.async_acquire());
  g.advance(20ms);
  ASSERT_TRUE(p.ready());
  auto held = p.get();
  EXPECT_TRUE(held.valid());
  g.store(2).enter.complete(g.store(2).grant(g.store(2).enter.calls()[0].claim));
  g.settle();
  EXPECT_EQ(g.held(), 3U);
  g[0].engine->lost(g.store(0).enter.calls()[0].claim.id, loss::taken);
  g.settle();
  EXPECT_TRUE(held.valid()) << "the late vote takes the place of the lost one";
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_TRUE(held.release());
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, a_vote_that_comes_after_the_release_is_given_back) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(2).enter.holds_back();
  pending_lease p(q.async_acquire());
  g.advance(20ms);
  EXPECT_TRUE(p.get().release());
  g.store(2).enter.complete(g.store(2).grant(g.store(2).enter.calls()[0].claim));
  g.settle();
  EXPECT_EQ(g.store(2).leave.count(), 1U);
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, one_that_queues_for_more_votes_leaves_the_queue_at_the_release) {
  group g(3);
  quorum_mutex q(g.list());
  occupy(g.store(2));
  pending_lease p(q.async_acquire());
  g.advance(20ms);
  auto held = p.get();
  EXPECT_EQ(g.store(2).leave.count(), 0U);
  EXPECT_TRUE(held.release());
  g.settle();
  EXPECT_EQ(g.store(2).leave.count(), 1U);
}

TEST(quorum_mutex, the_greatest_token_is_written_back_before_the_lease_is_handed_out) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(0).next_token = 10;
  g.store(1).next_token = 900;
  g.store(2).enter.holds_back();
  g.store(0).raise.holds_back();
  pending_lease p(q.async_acquire());
  g.advance(20ms);
  EXPECT_FALSE(p.ready());
  ASSERT_EQ(g.store(0).raise.count(), 1U);
  EXPECT_EQ(g.store(0).raise.calls()[0].floor.value(), 900U);
  EXPECT_EQ(g.store(1).raise.count(), 0U) << "it has that token already";
  g.store(0).raise.complete(true);
  g.settle();
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.get().token().value(), 900U);
}

TEST(quorum_mutex, a_majority_that_ran_out_while_tokens_were_raised_is_not_handed_out) {
  group g(3, {.ttl = 1s});
  quorum_mutex q(g.list());
  g.store(1).next_token = 900;
  g.store(2).enter.holds_back();
  g.store(0).raise.holds_back();
  for (std::size_t i = 0; i < 3; ++i)
    g.store(i).renew.otherwise([](const auto&) { return result<std::vector<spi::renewal_outcome>>(silent); });
  pending_lease p(q.async_acquire());
  g.advance(2s);
  g.store(0).raise.complete(true);
  g.settle();
  g.advance(20ms);
  ASSERT_TRUE(p.ready());
  EXPECT_TRUE(p.get().valid()) << "another one, asked for anew";
}

TEST(quorum_mutex, votes_whose_tokens_cannot_be_raised_do_not_count) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(0).next_token = 10;
  g.store(1).next_token = 900;
  g.store(2).enter.holds_back();
  g.store(0).raise.answers(failure{errc::lost, "not yours"});
  pending_lease p(q.async_acquire());
  g.settle();
  EXPECT_FALSE(p.ready());
  EXPECT_EQ(g.store(1).leave.count(), 1U) << "all are given back, and it begins again";
  g.advance(1s);
  ASSERT_TRUE(p.ready());
  EXPECT_TRUE(p.get().valid());
}

TEST(quorum_mutex, a_try_whose_tokens_cannot_be_raised_fails_and_does_not_go_on_for_ever) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(1).next_token = 900;
  g.store(0).raise.otherwise([](const auto&) { return result<bool>(silent); });
  g.store(2).raise.otherwise([](const auto&) { return result<bool>(silent); });
  pending_lease p(q.async_acquire({.wait = 0s}));
  g.advance(1s);
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.failure_code(), errc::unavailable);
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, giving_up_while_tokens_are_raised_drops_the_votes_afterwards) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(1).next_token = 900;
  g.store(2).enter.holds_back();
  g.store(0).raise.holds_back();
  pending_lease p(q.async_acquire({.wait = 1s}));
  g.advance(1s);
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.failure_code(), errc::timed_out);
  g.store(0).raise.complete(true);
  g.settle();
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, a_dead_minority_does_not_matter) {
  for (std::size_t dead = 0; dead < 3; ++dead) {
    group g(3, {.request_timeout = 1s});
    quorum_mutex q(g.list());
    kill(g.store(dead));
    pending_lease p(q.async_acquire());
    g.advance(20ms);
    ASSERT_TRUE(p.ready()) << "without waiting for store " << dead;
    auto held = p.get();
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(g.held(), 2U);
  }
}

TEST(quorum_mutex, a_dead_majority_is_unavailable_and_nothing_stays_held) {
  for (const auto request_timeout : {1s, 5s}) {
    group g(3, {.request_timeout = request_timeout});
    quorum_mutex q(g.list());
    kill(g.store(0));
    kill(g.store(2));
    pending_lease p(q.async_acquire());
    g.advance(request_timeout + 500ms);
    ASSERT_TRUE(p.ready()) << "as soon as one dead store alone would be told of";
    EXPECT_EQ(p.failure_code(), errc::unavailable);
    EXPECT_EQ(g.held(), 0U);
    EXPECT_GE(g.store(1).leave.count(), 1U);
  }
}

TEST(quorum_mutex, a_majority_that_says_nothing_to_the_end_of_the_wait_is_unavailable) {
  group g(3, {.request_timeout = 5s});
  quorum_mutex q(g.list());
  g.store(0).enter.holds_back();
  g.store(1).enter.holds_back();
  pending_lease p(q.async_acquire({.wait = 1s}));
  g.advance(1s);
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.failure_code(), errc::unavailable);
}

TEST(quorum_mutex, a_store_that_comes_back_while_it_waits_is_asked_again) {
  group g(3, {.request_timeout = 1s});
  quorum_mutex q(g.list());
  kill(g.store(2));
  occupy(g.store(0));
  occupy(g.store(1));
  pending_lease p(q.async_acquire());
  g.advance(2s);
  g.store(2).enter.otherwise(
      [&](const auto& asked) { return result<spi::entry_result>(g.store(2).grant(asked.claim)); });
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    g.advance(20ms);
    most = std::max(most, g.held());  // one vote is no majority and is given back in between
  }
  EXPECT_EQ(most, 1U);
  EXPECT_FALSE(p.ready());
}

TEST(quorum_mutex, a_try_with_a_dead_majority_is_unavailable_at_once) {
  group g(3);
  quorum_mutex q(g.list());
  kill(g.store(0));
  kill(g.store(1));
  pending_lease p(q.async_acquire({.wait = 0s}));
  g.settle();
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(p.failure_code(), errc::unavailable);
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, a_try_that_finds_the_majority_busy_beside_a_dead_minority_is_contention) {
  for (std::size_t dead = 0; dead < 3; ++dead) {
    group g(3);
    quorum_mutex q(g.list());
    for (std::size_t i = 0; i < 3; ++i) i == dead ? kill(g.store(i)) : occupy(g.store(i));
    pending_lease p(q.async_acquire({.wait = 0s}));
    g.settle();
    ASSERT_TRUE(p.ready());
    EXPECT_EQ(p.failure_code(), errc::timed_out) << "the living majority said: busy";
    EXPECT_EQ(g.held(), 0U);
  }
}

TEST(quorum_mutex, of_an_even_number_half_is_not_enough) {
  group g(4);
  quorum_mutex q(g.list());
  occupy(g.store(2));
  occupy(g.store(3));
  pending_lease p(q.async_acquire({.wait = 0s}));
  g.settle();
  EXPECT_EQ(p.failure_code(), errc::timed_out);
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, the_first_member_gets_a_head_start) {
  group g(3);
  quorum_mutex q(g.list());
  g.store(0).enter.holds_back();
  pending_lease p(q.async_acquire());
  g.advance(9ms);
  EXPECT_EQ(g.store(1).enter.count(), 0U);
  g.advance(1ms);
  EXPECT_EQ(g.store(1).enter.count(), 1U);
  EXPECT_EQ(g.store(2).enter.count(), 1U);
}

TEST(quorum_mutex, a_tie_is_broken_by_giving_back_and_beginning_again) {
  group g(2);
  quorum_mutex q(g.list());
  g.store(1).enter.answers(g.store(1).busy());  // somebody else has the other half
  pending_lease p(q.async_acquire());
  g.advance(20ms);
  EXPECT_EQ(g.held(), 1U);
  g.advance(200ms);
  ASSERT_TRUE(p.ready());
  EXPECT_EQ(g.store(0).enter.count(), 2U) << "its vote was given back in between";
  EXPECT_GE(g.store(0).leave.count(), 1U);
  EXPECT_EQ(g.held(), 2U);
  EXPECT_TRUE(p.get().release());
}

TEST(quorum_mutex, one_without_a_vote_stays_in_the_queues) {
  group g(3);
  quorum_mutex q(g.list());
  for (std::size_t i = 0; i < 3; ++i) occupy(g.store(i));
  pending_lease p(q.async_acquire({.wait = 10s}));
  g.advance(5s);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(g.store(i).enter.count(), 1U) << "it keeps nobody from anything";
  g.advance(5s);
  EXPECT_EQ(p.failure_code(), errc::timed_out);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(g.store(i).leave.count(), 1U);
}

TEST(quorum_mutex, is_lost_when_the_votes_fall_below_the_majority) {
  group g(5);
  quorum_mutex q(g.list());
  pending_lease p(q.async_acquire());
  g.advance(20ms);
  auto held = p.get();
  ASSERT_EQ(g.held(), 5U);
  const auto token = held.lost();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(held.valid()) << i << " are gone";
    EXPECT_FALSE(token.stop_requested());
    g[i].engine->lost(g.store(i).enter.calls()[0].claim.id, loss::taken);
    g.settle();
  }
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(token.stop_requested());
  EXPECT_EQ(held.loss_cause(), loss::taken);
  EXPECT_FALSE(held.release());
  EXPECT_EQ(g.held(), 0U);
}

TEST(quorum_mutex, refuses_a_store_whose_tokens_cannot_be_raised) {
  group g(2);
  rig plain;
  plain.store->supports.raise_token = false;
  // supports() is read when the engine is made: a rig of its own, remade.
  detail::engine_parts parts{std::make_shared<detail::outlet>(nullptr),
                             plain.time,
                             plain.callbacks,
                             plain.callbacks,
                             plain.callbacks,
                             plain.callbacks,
                             nullptr};
  auto engine = detail::engine::make(parts, {}, "weak:", [&](spi::runtime& runtime) {
    return result<std::unique_ptr<spi::backend>>(scripted_store::backend(plain.store, runtime));
  });
  mutex weak(client(*engine), "x");
  try {
    quorum_mutex q({*g.members[0], weak});
    FAIL() << "must be refused";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unsupported);
    EXPECT_NE(std::string(e.what()).find("weak:"), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast::testing
