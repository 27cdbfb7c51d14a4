#include "support/rig.hpp"

#include "terms.hpp"

// The gate: local queue and local handover.

namespace holdfast::testing {
namespace {

using waiters = std::vector<std::shared_ptr<asked>>;

/// A first holder who found nobody behind it, then `count` who wait.
waiters queue_up(rig& r, std::size_t count, acquire_options options = {}) {
  waiters all;
  for (std::size_t i = 0; i <= count; ++i) all.push_back(r.ask("x", options));
  return all;
}

/// The holder, by the store, of a block of tokens: with others behind it when it asked.
waiters queue_up_behind_a_block(rig& r, std::size_t count, acquire_options options = {}) {
  auto all = queue_up(r, count, options);
  EXPECT_TRUE(all.front()->release());
  all.erase(all.begin());
  return all;
}

TEST(handover, waiters_of_one_process_queue_here_and_not_at_the_store) {
  rig r;
  auto all = queue_up(r, 5);
  EXPECT_EQ(r.store->enter.count(), 1U);
  EXPECT_EQ(r.engine->gate().parked("x"), 5U);
}

TEST(handover, the_one_that_goes_to_the_store_with_others_behind_it_draws_tokens_for_them) {
  rig r;
  auto all = queue_up_behind_a_block(r, 3);
  const auto calls = r.store->enter.calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].tokens, 1U);
  EXPECT_EQ(calls[1].tokens, detail::handover_count);
}

TEST(handover, passes_the_lease_on_with_consecutive_tokens_and_without_the_store) {
  rig r;
  auto all = queue_up_behind_a_block(r, 4);
  const auto leaves = r.store->leave.count();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    ASSERT_TRUE(all[i]->granted());
    EXPECT_TRUE(all[i + 1]->open()) << "first come, first served";
    EXPECT_TRUE(all[i]->release());
    ASSERT_TRUE(all[i + 1]->granted());
    EXPECT_EQ(all[i + 1]->token(), all[i]->token() + 1);
    EXPECT_FALSE(all[i]->held->valid());
    EXPECT_TRUE(all[i + 1]->held->valid());
  }
  EXPECT_EQ(r.store->enter.count(), 2U);
  EXPECT_EQ(r.store->leave.count(), leaves);
  EXPECT_EQ(r.stats().handed_over, 3U);
  EXPECT_EQ(r.stats().held, 1U);
  EXPECT_TRUE(all.back()->release());
  EXPECT_EQ(r.store->leave.count(), leaves + 1);
  EXPECT_EQ(r.stats().held, 0U);
}

TEST(handover, is_bounded_by_count) {
  rig r;
  auto all = queue_up_behind_a_block(r, detail::handover_count + 5);
  std::size_t served = 0;
  while (r.store->enter.count() == 2) {
    ASSERT_TRUE(all[served]->granted());
    ASSERT_TRUE(all[served++]->release());
  }
  EXPECT_EQ(served, detail::handover_count);
  EXPECT_TRUE(all[served]->granted());
  EXPECT_GT(all[served]->token(), all[served - 1]->token());
}

TEST(handover, draws_twice_the_tokens_once_all_were_used_and_few_again_after_some_were_left) {
  rig r;
  auto all = queue_up_behind_a_block(r, detail::handover_count + 3);
  for (std::size_t i = 0; i < detail::handover_count; ++i) ASSERT_TRUE(all[i]->release());
  r.time->advance(detail::handover_time + 1ns);
  EXPECT_TRUE(all[detail::handover_count]->release());
  const auto calls = r.store->enter.calls();
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[2].tokens, 2 * detail::handover_count);
  EXPECT_EQ(calls[3].tokens, detail::handover_count);
}

TEST(handover, is_bounded_by_time) {
  rig r;
  auto all = queue_up_behind_a_block(r, 3);
  r.time->advance(detail::handover_time + 1ns);
  EXPECT_TRUE(all[0]->release());
  EXPECT_EQ(r.store->enter.count(), 3U) << "given back first, so that others had their chance";
  EXPECT_TRUE(all[1]->granted());
  EXPECT_EQ(r.stats().handed_over, 0U);
}

TEST(handover, never_happens_for_fifo) {
  rig r;
  auto first = r.ask("x", {}, {}, ordering::fifo);
  auto second = r.ask("x", {}, {}, ordering::fifo);
  EXPECT_EQ(r.store->enter.count(), 2U) << "everybody queues at the store";
  EXPECT_EQ(r.engine->gate().parked("x"), 0U);
  EXPECT_TRUE(first->release());
  EXPECT_EQ(r.stats().handed_over, 0U);
}

TEST(handover, never_happens_for_shared_locks_and_permits) {
  rig r;
  for (const auto kind : {spi::kind::shared_mutex, spi::kind::permits}) {
    spi::claim claim;
    claim.name = "x";
    claim.kind = kind;
    auto first = r.ask(claim);
    auto second = r.ask(claim);
    EXPECT_TRUE(first->granted());
    EXPECT_TRUE(second->granted());
    EXPECT_TRUE(first->release());
    EXPECT_TRUE(second->release());
  }
  EXPECT_EQ(r.stats().handed_over, 0U);
  EXPECT_EQ(r.store->enter.count(), 4U);
}

TEST(handover, never_gives_away_a_lease_of_fixed_ttl) {
  rig r;
  auto all = queue_up_behind_a_block(r, 3, {.ttl = 5s});
  EXPECT_TRUE(all[0]->release());
  EXPECT_TRUE(all[1]->granted());
  EXPECT_EQ(r.stats().handed_over, 0U);
}

TEST(handover, never_gives_a_renewed_lease_to_one_who_asked_for_a_fixed_ttl) {
  rig r;
  auto first = r.ask("x");
  auto second = r.ask("x");
  auto fixed = r.ask("x", {.ttl = 5s});
  EXPECT_TRUE(first->release());
  EXPECT_TRUE(second->granted());
  EXPECT_TRUE(second->release());
  ASSERT_TRUE(fixed->granted());
  EXPECT_EQ(r.stats().handed_over, 0U);
  EXPECT_EQ(r.store->enter.calls().back().claim.ttl, 5s);
}

TEST(handover, never_passes_on_a_lease_in_trouble) {
  rig r({.ttl = 12ms});  // its validity is less than half of what is left when the margin is off
  auto all = queue_up_behind_a_block(r, 2);
  r.time->jump(5ms);
  EXPECT_TRUE(all[0]->release());
  EXPECT_EQ(r.stats().handed_over, 0U);
  EXPECT_TRUE(all[1]->granted());
}

TEST(handover, the_grant_stays_renewed_under_its_new_holder) {
  rig r;
  auto all = queue_up_behind_a_block(r, 1 + 1);
  EXPECT_TRUE(all[0]->release());
  ASSERT_TRUE(all[1]->granted());
  for (int i = 0; i < 10; ++i) r.time->advance(10s);
  EXPECT_TRUE(all[1]->held->valid());
  EXPECT_EQ(r.store->renew.calls().back()[0].id, r.store->enter.calls()[1].claim.id);
}

TEST(handover, a_lost_holder_lets_the_next_local_waiter_go_to_the_store) {
  rig r;
  auto all = queue_up(r, 2);
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  EXPECT_EQ(all[0]->held->loss_cause(), loss::taken);
  EXPECT_TRUE(all[1]->granted());
  EXPECT_GT(all[1]->token(), all[0]->token());
  EXPECT_EQ(all[0]->release().error().code, errc::lost);
  EXPECT_TRUE(all[1]->held->valid()) << "the late release ends nobody else's hold";
  EXPECT_TRUE(all[2]->open());
}

TEST(handover, one_who_gives_up_in_the_moment_it_is_let_in_gives_up_there) {
  rig r;
  auto holder = r.ask("x");
  // The clock strikes, and the holder goes, while the waiter is only just arming its deadline.
  std::shared_ptr<asked> waiter;
  r.store->enter.answers(r.store->busy());  // for the waiter, once inside
  r.time->on_next_timer([&] {
    r.time->advance(1s);
    EXPECT_TRUE(holder->release());
  });
  waiter = r.ask("x", {.wait = 1s});
  EXPECT_TRUE(waiter->failed(errc::timed_out)) << "its deadline passed and must not be forgotten";
  EXPECT_EQ(waiter->answers, 1);
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->granted()) << "and the gate is free";
}

TEST(handover, one_who_gives_up_in_the_moment_it_is_handed_the_lease_has_it) {
  rig r;
  auto all = queue_up_behind_a_block(r, 1 + 1);
  std::shared_ptr<asked> waiter;
  EXPECT_TRUE(all[0]->release());  // to all[1]
  r.time->on_next_timer([&] {
    EXPECT_TRUE(all[1]->release());
    r.time->advance(1ms);
  });
  waiter = r.ask("x", {.wait = 1ms});
  EXPECT_EQ(waiter->answers, 1);
  EXPECT_TRUE(waiter->granted());
  EXPECT_EQ(r.stats().held, 1U);
}

TEST(handover, a_waiter_that_withdrew_is_passed_over) {
  rig r;
  auto all = queue_up_behind_a_block(r, 3);
  all[1]->under_way->cancel();
  EXPECT_TRUE(all[1]->failed(errc::cancelled));
  EXPECT_TRUE(all[0]->release());
  EXPECT_TRUE(all[2]->granted());
  EXPECT_EQ(all[1]->answers, 1);
}

TEST(handover, a_refused_one_lets_the_next_try) {
  rig r;
  auto all = queue_up(r, 3);
  r.store->enter.answers(refusal);
  EXPECT_TRUE(all[0]->release());
  EXPECT_TRUE(all[1]->failed(errc::rejected));
  EXPECT_TRUE(all[2]->granted());
  EXPECT_TRUE(all[3]->open());
}

TEST(handover, ten_thousand_waiters_that_are_refused_do_not_exhaust_the_stack) {
  rig r;
  auto all = queue_up(r, 10'000);
  r.store->enter.otherwise([](const auto&) { return result<spi::entry_result>(refusal); });
  EXPECT_TRUE(all[0]->release());
  r.workers->run();
  EXPECT_TRUE(all[1]->failed(errc::rejected));
  EXPECT_TRUE(all.back()->failed(errc::rejected));
}

TEST(handover, a_release_that_goes_unanswered_does_not_keep_the_next_one_out) {
  rig r;
  auto all = queue_up(r, 1);
  r.store->leave.answers(silent);
  EXPECT_EQ(all[0]->release().error().code, errc::unavailable);
  EXPECT_TRUE(all[1]->granted());
  EXPECT_EQ(r.store->leave.count(), 1U);
  r.time->advance(1s);
  const auto left = r.store->leave.calls();
  ASSERT_EQ(left.size(), 2U) << "sent again in the background";
  EXPECT_EQ(left[0].id, left[1].id);
}

}  // namespace
}  // namespace holdfast::testing
