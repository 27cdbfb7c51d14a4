#include "support/rig.hpp"

#include <barrier>
#include <thread>

// Silence of the store: asked again with the same id, given up in time, cleaned up behind.

namespace holdfast::testing {
namespace {

TEST(acquisition_retry, silence_is_asked_again_with_the_same_id) {
  rig r;
  r.store->enter.answers(silent);
  r.store->enter.answers(silent);
  auto a = r.ask("x");
  EXPECT_TRUE(a->open());
  r.time->advance(1s);
  ASSERT_TRUE(a->granted());
  const auto calls = r.store->enter.calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].claim.id, calls[1].claim.id);
  EXPECT_EQ(calls[1].claim.id, calls[2].claim.id);
}

TEST(acquisition_retry, a_wait_that_nobody_holds_on_to_outlives_the_silence) {
  // As the blocking and the asynchronous face have it: they keep nothing but the callback.
  rig r;
  r.store->enter.answers(silent);
  int granted = 0;
  spi::claim claim;
  claim.name = "x";
  claim.ttl = 30s;
  r.engine->acquire(claim, {}, spi::caller::must_not_block, [&](const auto& outcome) { granted += outcome ? 1 : 0; });
  r.time->advance(1s);
  EXPECT_EQ(granted, 1);
}

TEST(acquisition_retry, the_pauses_grow_and_stay_below_half_a_second) {
  rig r({.request_timeout = 60s});
  r.store->enter.otherwise([](const auto&) { return result<spi::entry_result>(silent); });
  auto a = r.ask("x");
  auto before = r.time->now();
  std::chrono::nanoseconds first{};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(r.time->run_next());
    const auto pause = r.time->now() - before;
    before = r.time->now();
    if (i == 0) first = pause;
    EXPECT_LE(pause, 500ms);
    EXPECT_GE(pause, i >= 6 ? 250ms : 5ms);
  }
  EXPECT_LE(first, 10ms);
}

TEST(acquisition_retry, silence_until_request_timeout_is_unavailable_and_leaves) {
  rig r({.request_timeout = 2s});
  r.store->enter.otherwise([](const auto&) { return result<spi::entry_result>(silent); });
  const auto began = r.time->now();
  auto a = r.ask("x");
  while (a->open()) ASSERT_TRUE(r.time->run_next());
  EXPECT_TRUE(a->failed(errc::unavailable));
  EXPECT_GE(r.time->now() - began, 2s);
  EXPECT_LT(r.time->now() - began, 3s);
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.stats().failed, 1U);
}

TEST(acquisition_retry, those_parked_behind_learn_of_the_silence_with_the_one_inside) {
  rig r({.request_timeout = 2s});
  r.store->enter.otherwise([](const auto&) { return result<spi::entry_result>(silent); });
  auto inside = r.ask("x");
  auto parked = r.ask("x");
  auto other = r.ask("y");
  while (inside->open()) ASSERT_TRUE(r.time->run_next());
  EXPECT_TRUE(inside->failed(errc::unavailable));
  EXPECT_TRUE(parked->failed(errc::unavailable)) << "without another request_timeout";
  EXPECT_EQ(r.engine->gate().parked("x"), 0U);
}

TEST(acquisition_retry, an_answer_in_between_starts_the_patience_afresh) {
  rig r({.request_timeout = 2s});
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i) r.store->enter.answers(silent);
    r.store->enter.answers(spi::busy{r.time->now() + 100h});
  }
  auto a = r.ask("x");
  while (r.store->watch.open() == 0) ASSERT_TRUE(r.time->run_next());
  r.time->jump(10s);
  r.store->watch.complete(spi::wake(spi::look_again{}));
  while (r.store->watch.open() == 0) ASSERT_TRUE(r.time->run_next());
  EXPECT_TRUE(a->open());
  EXPECT_EQ(r.store->enter.count(), 12U);
}

TEST(acquisition_retry, a_deadline_in_silence_says_that_the_store_was_silent) {
  rig r({.request_timeout = 60s});
  r.store->enter.otherwise([](const auto&) { return result<spi::entry_result>(silent); });
  auto a = r.ask("x", {.wait = 1s});
  r.time->advance(1s);
  EXPECT_TRUE(a->failed(errc::unavailable)) << "nobody was found to hold it";
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(acquisition_retry, a_try_in_silence_is_unavailable_at_once_and_leaves) {
  rig r;
  r.store->enter.answers(silent);
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->failed(errc::unavailable));
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(acquisition_retry, a_leave_without_answer_is_sent_again) {
  rig r;
  r.store->enter.answers(r.store->busy());
  r.store->leave.answers(silent);
  r.store->leave.answers(silent);
  auto a = r.ask("x", {.wait = 1s});
  r.time->advance(1s);
  EXPECT_TRUE(a->failed(errc::timed_out));
  EXPECT_EQ(r.store->leave.count(), 1U);
  r.time->advance(1s);
  const auto calls = r.store->leave.calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].id, calls[2].id);
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->granted()) << "and the gate is free";
}

TEST(acquisition_retry, a_leave_is_given_up_after_request_timeout_and_logged) {
  std::string logged;
  rig r({.request_timeout = 2s, .log = [&](log_level, std::string_view line) { logged = line; }});
  r.store->enter.answers(r.store->busy());
  r.store->leave.otherwise([](const auto&) { return result<bool>(silent); });
  auto a = r.ask("x", {.wait = 1s});
  r.time->advance(10s);
  EXPECT_NE(logged.find("left to its ttl"), std::string::npos) << logged;
  const auto tried = r.store->leave.count();
  EXPECT_GT(tried, 3U);
  r.time->advance(1h);
  EXPECT_EQ(r.store->leave.count(), tried);
  EXPECT_TRUE(r.ask("x", {.wait = 0s})->granted()) << "and the gate is free";
}

TEST(acquisition_retry, the_next_in_the_gate_waits_for_the_cleaning_up_of_the_one_before) {
  rig r;
  r.store->enter.answers(r.store->busy());
  r.store->leave.holds_back();
  auto first = r.ask("x", {.wait = 1s});
  auto second = r.ask("x");
  r.time->advance(1s);
  EXPECT_TRUE(first->failed(errc::timed_out));
  EXPECT_EQ(r.store->enter.count(), 1U);
  r.store->leave.complete(true);
  EXPECT_TRUE(second->granted());
}

TEST(acquisition_retry, a_deadline_that_meets_the_stores_answer_answers_once) {
  // Two threads on purpose: under ThreadSanitizer this finds what both of them touch.
  for (int i = 0; i < 100; ++i) {
    rig r({.request_timeout = 60s});
    r.store->enter.answers(silent);
    r.store->enter.holds_back();
    std::atomic<int> answers = 0;
    spi::claim claim;
    claim.name = "x";
    claim.ttl = 30s;
    detail::acquire_terms terms;
    terms.deadline = r.time->now() + 1s;
    r.engine->acquire(claim, terms, spi::caller::must_not_block, [&](const auto&) { ++answers; });
    ASSERT_TRUE(r.time->run_next());
    ASSERT_EQ(r.store->enter.open(), 1U);
    std::barrier together(2);
    std::jthread store([&] {
      together.arrive_and_wait();
      r.store->enter.complete(
          failure{errc::unavailable, "no answer, and many words about it: " + std::string(64, 'x')});
    });
    together.arrive_and_wait();
    r.time->advance(1s);
    store.join();
    r.time->advance(1s);
    EXPECT_EQ(answers, 1);
  }
}

}  // namespace
}  // namespace holdfast::testing
