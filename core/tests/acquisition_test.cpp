#include "support/rig.hpp"

namespace holdfast::testing {
namespace {

TEST(acquisition, an_uncontended_lock_costs_one_question_and_no_timer_of_its_own) {
  rig r;
  std::stop_source stop;
  auto a = r.ask("x", {.wait = 3s}, stop.get_token());
  ASSERT_TRUE(a->granted());
  EXPECT_EQ(r.store->enter.count(), 1U);
  EXPECT_EQ(r.store->watch.count(), 0U);
  EXPECT_EQ(r.time->ever_set(), 1U) << "the renewal's";
  EXPECT_EQ(r.stats().contended, 0U);
}

TEST(acquisition, the_request_carries_what_was_asked) {
  rig r({.ttl = 20s});
  r.ask("x", {.wait = 3s});
  r.ask("y", {.wait = 0s, .ttl = 7s}, {}, ordering::fifo);
  const auto calls = r.store->enter.calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].claim.name, "x");
  EXPECT_EQ(calls[0].claim.ttl, 20s);
  EXPECT_TRUE(calls[0].queue);
  EXPECT_EQ(calls[1].claim.ttl, 7s);
  EXPECT_EQ(calls[1].claim.order, ordering::fifo);
  EXPECT_FALSE(calls[1].queue);
  EXPECT_NE(calls[0].claim.id, calls[1].claim.id);
}

TEST(acquisition, a_deadline_while_watching_answers_on_time_and_leaves_the_queue) {
  rig r;
  r.store->enter.answers(r.store->busy());
  auto a = r.ask("x", {.wait = 3s});
  EXPECT_EQ(r.store->watch.open(), 1U);
  r.time->advance(3s - 1ns);
  EXPECT_TRUE(a->open());
  r.time->advance(1ns);
  EXPECT_TRUE(a->failed(errc::timed_out));
  ASSERT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.store->leave.calls()[0].id, r.store->enter.calls()[0].claim.id);
  EXPECT_EQ(r.stats().timed_out, 1U);
}

TEST(acquisition, a_deadline_while_entering_answers_on_time_and_leaves_after_the_answer) {
  rig r;
  r.store->enter.holds_back();
  auto a = r.ask("x", {.wait = 3s});
  r.time->advance(3s);
  EXPECT_TRUE(a->failed(errc::unavailable)) << "the store never said that it was busy";
  EXPECT_EQ(r.store->leave.count(), 0U) << "the enter could still take effect";
  r.store->enter.complete(r.store->grant(r.store->enter.calls()[0].claim));
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(a->answers, 1);
  EXPECT_EQ(r.stats().held, 0U);
}

TEST(acquisition, a_deadline_while_parked_answers_on_time_and_asks_the_store_nothing) {
  rig r;
  auto holder = r.ask("x");
  auto a = r.ask("x", {.wait = 3s});
  r.time->advance(3s);
  EXPECT_TRUE(a->failed(errc::timed_out));
  EXPECT_EQ(r.store->enter.count(), 1U);
  EXPECT_EQ(r.store->leave.count(), 0U);
  EXPECT_EQ(r.engine->gate().parked("x"), 0U);
}

TEST(acquisition, cancelling_while_watching_leaves_the_queue) {
  rig r;
  r.store->enter.answers(r.store->busy());
  std::stop_source stop;
  auto a = r.ask("x", {}, stop.get_token());
  stop.request_stop();
  EXPECT_TRUE(a->failed(errc::cancelled));
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.stats().cancelled, 1U);
}

TEST(acquisition, cancelling_while_entering_answers_at_once_and_leaves_after_the_answer) {
  rig r;
  r.store->enter.holds_back();
  std::stop_source stop;
  auto a = r.ask("x", {}, stop.get_token());
  stop.request_stop();
  EXPECT_TRUE(a->failed(errc::cancelled));
  EXPECT_EQ(r.store->leave.count(), 0U);
  r.store->enter.complete(r.store->busy());
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(acquisition, cancelling_while_parked_asks_the_store_nothing) {
  rig r;
  auto holder = r.ask("x");
  std::stop_source stop;
  auto a = r.ask("x", {}, stop.get_token());
  stop.request_stop();
  EXPECT_TRUE(a->failed(errc::cancelled));
  EXPECT_EQ(r.store->enter.count(), 1U);
  EXPECT_EQ(r.engine->gate().parked("x"), 0U);
}

TEST(acquisition, a_stop_token_stopped_before_asks_nobody) {
  rig r;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(r.ask("x", {}, stop.get_token())->failed(errc::cancelled));
  EXPECT_TRUE(r.ask("x", {.wait = 0s}, stop.get_token())->failed(errc::cancelled));
  EXPECT_EQ(r.store->enter.count(), 0U);
  EXPECT_TRUE(r.ask("x")->granted()) << "and the gate is free";
}

TEST(acquisition, a_try_that_finds_it_busy_leaves_nothing) {
  rig r;
  r.store->enter.answers(r.store->busy());
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->failed(errc::timed_out));
  EXPECT_EQ(r.store->leave.count(), 0U);
  EXPECT_EQ(r.store->watch.count(), 0U);
  EXPECT_EQ(r.time->pending(), 0U);
  EXPECT_EQ(r.stats().busy, 1U);
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->granted()) << "and the gate is free";
}

TEST(acquisition, a_try_that_finds_it_busy_is_out_of_the_gate_when_it_says_so) {
  rig r;
  r.store->enter.answers(r.store->busy());
  detail::acquire_terms once;
  once.waits = detail::acquire_machine::waiting::no;
  spi::claim claim;
  claim.name = "x";
  claim.id = spi::owner_id::random();
  claim.ttl = 30s;
  bool granted = false;
  r.engine->acquire(claim, once, spi::caller::may_block, [&](const auto& first) {
    EXPECT_FALSE(first);
    claim.id = spi::owner_id::random();
    r.engine->acquire(claim, once, spi::caller::may_block, [&](const auto& second) { granted = second.has_value(); });
  });
  EXPECT_TRUE(granted) << "the store was asked again";
}

TEST(acquisition, a_try_on_a_lock_held_here_does_not_ask_the_store) {
  rig r;
  auto holder = r.ask("x");
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->failed(errc::timed_out));
  EXPECT_EQ(r.store->enter.count(), 1U);
}

TEST(acquisition, a_wake_makes_it_ask_again_with_the_same_id) {
  rig r;
  r.store->enter.answers(r.store->busy());
  auto a = r.ask("x");
  r.store->watch.complete(spi::wake(spi::look_again{}));
  EXPECT_TRUE(a->granted());
  const auto calls = r.store->enter.calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].claim.id, calls[1].claim.id);
  EXPECT_EQ(r.stats().contended, 1U);
}

TEST(acquisition, a_watch_that_fails_makes_it_look_again) {
  rig r;
  r.store->enter.answers(r.store->busy());
  auto a = r.ask("x");
  r.store->watch.complete(silent);
  EXPECT_TRUE(a->open());
  r.time->advance(10ms);
  EXPECT_TRUE(a->granted()) << "soon, not when the store's hour is over";
}

TEST(acquisition, a_grant_that_took_longer_to_come_than_it_lasts_is_given_back_and_asked_for_anew) {
  rig r({.ttl = 1s});
  r.store->enter.holds_back();
  auto a = r.ask("x");
  const auto late = r.store->grant(r.store->enter.calls()[0].claim);
  r.time->advance(2s);
  r.store->enter.complete(late);
  ASSERT_TRUE(a->granted());
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.store->enter.count(), 2U);
  EXPECT_TRUE(a->held->valid());
  EXPECT_GT(a->token(), late.first_token.value());
}

TEST(acquisition, a_grant_taken_away_before_it_is_seen_is_handed_out_as_lost) {
  rig r;
  r.store->enter.holds_back();
  auto a = r.ask("x");
  const auto claim = r.store->enter.calls()[0].claim;
  r.engine->lost(claim.id, loss::taken);
  r.store->enter.complete(r.store->grant(claim));
  ASSERT_TRUE(a->granted());
  EXPECT_EQ(a->held->loss_cause(), loss::taken);
}

TEST(acquisition, a_wake_that_overtakes_the_answer_is_not_lost) {
  rig r;
  r.store->enter.answers(r.store->busy());
  r.store->enter.holds_back();
  auto a = r.ask("x");
  r.time->advance(1h);  // looks again; the watch stays out
  ASSERT_EQ(r.store->enter.open(), 1U);
  r.store->watch.complete(spi::wake(spi::look_again{}));
  r.store->enter.complete(r.store->busy());
  EXPECT_TRUE(a->granted()) << "asked a third time at once";
  EXPECT_EQ(r.store->enter.count(), 3U);
}

TEST(acquisition, the_time_the_store_names_is_when_it_looks_again) {
  rig r;
  r.store->enter.answers(spi::busy{r.time->now() + 250ms});
  auto a = r.ask("x");
  r.time->advance(250ms - 1ns);
  EXPECT_EQ(r.store->enter.count(), 1U);
  r.time->advance(1ns);
  EXPECT_TRUE(a->granted());
  EXPECT_EQ(r.store->watch.count(), 1U);
}

TEST(acquisition, a_direct_handover_is_a_grant_without_another_question) {
  rig r;
  r.store->enter.answers(r.store->busy());
  auto a = r.ask("x");
  r.store->watch.complete(spi::wake(spi::granted{fencing_token(7), 1, r.time->now() + 30s}));
  ASSERT_TRUE(a->granted());
  EXPECT_EQ(a->token(), 7U);
  EXPECT_EQ(r.store->enter.count(), 1U);
  EXPECT_TRUE(a->release());
}

TEST(acquisition, a_handover_that_comes_while_asking_is_kept_though_the_question_fails) {
  rig r;
  r.store->enter.answers(r.store->busy());
  r.store->enter.holds_back();
  auto a = r.ask("x");
  r.time->advance(1h);
  r.store->watch.complete(spi::wake(spi::granted{fencing_token(7), 1, r.time->now() + 30s}));
  EXPECT_TRUE(a->open());
  r.store->enter.complete(silent);
  ASSERT_TRUE(a->granted());
  EXPECT_EQ(a->token(), 7U);
  EXPECT_EQ(r.store->leave.count(), 0U);
}

TEST(acquisition, a_handover_that_comes_after_giving_up_is_given_back) {
  rig r;
  r.store->enter.answers(r.store->busy());
  r.store->enter.holds_back();
  std::stop_source stop;
  auto a = r.ask("x", {}, stop.get_token());
  r.time->advance(1h);
  stop.request_stop();
  EXPECT_TRUE(a->failed(errc::cancelled));
  r.store->watch.complete(spi::wake(spi::granted{fencing_token(7), 1, r.time->now() + 30s}));
  r.store->enter.complete(refusal);
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(a->answers, 1);
  EXPECT_EQ(r.stats().held, 0U);
}

TEST(acquisition, a_refusal_is_told_with_the_stores_words) {
  rig r;
  r.store->enter.answers(refusal);
  auto a = r.ask("x");
  ASSERT_TRUE(a->failed(errc::rejected));
  EXPECT_EQ(a->why.detail, "no rights");
  EXPECT_EQ(r.store->leave.count(), 0U);
  EXPECT_EQ(r.stats().failed, 1U);
  EXPECT_TRUE(r.ask("x")->granted()) << "and the gate is free";
}

TEST(acquisition, malformed_options_are_an_outcome_and_ask_nobody) {
  rig r;
  EXPECT_TRUE(r.ask("x", {.wait = -1ns})->failed(errc::invalid_argument));
  EXPECT_TRUE(r.ask("x", {.ttl = 0s})->failed(errc::invalid_argument));
  EXPECT_TRUE(r.ask("x", {.ttl = -5s})->failed(errc::invalid_argument));
  EXPECT_TRUE(r.ask("x", {.ttl = 24h * 366})->failed(errc::invalid_argument));
  EXPECT_EQ(r.store->enter.count(), 0U);
}

TEST(acquisition, a_wait_longer_than_the_clock_is_a_wait_for_ever) {
  rig r;
  r.store->enter.answers(r.store->busy());
  auto a = r.ask("x", {.wait = std::chrono::hours::max()});
  EXPECT_EQ(r.time->pending(), 1U) << "the look-again timer alone";
  r.store->watch.complete(spi::wake(spi::look_again{}));
  EXPECT_TRUE(a->granted());
}

TEST(acquisition, semaphores_and_latches_pass_without_a_lease) {
  rig r;
  spi::claim claim;
  claim.name = "s";
  claim.kind = spi::kind::semaphore;
  auto a = r.ask(claim);
  EXPECT_EQ(a->answers, 1);
  EXPECT_EQ(a->held, nullptr);
  EXPECT_FALSE(a->why.code);
  EXPECT_EQ(r.time->pending(), 0U) << "nothing to renew";
}

}  // namespace
}  // namespace holdfast::testing
