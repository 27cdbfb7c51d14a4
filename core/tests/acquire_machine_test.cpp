#include "acquire_machine.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using event = acquire_machine::event;
using answer = acquire_machine::answer;
using phase = acquire_machine::phase;
using waiting = acquire_machine::waiting;

acquire_machine::action play(acquire_machine& machine, std::initializer_list<event> events) {
  acquire_machine::action last;
  for (const event e : events) last = machine.step(e);
  return last;
}

TEST(acquire_machine, an_uncontended_acquisition_takes_one_step) {
  acquire_machine machine(waiting::yes);
  EXPECT_TRUE(machine.step(event::start).enter);
  const auto last = machine.step(event::granted);
  EXPECT_EQ(last.deliver, answer::grant);
  EXPECT_FALSE(last.enter || last.watch || last.leave || last.look_again_timer || last.retry_timer);
  EXPECT_EQ(machine.now(), phase::finished);
}

TEST(acquire_machine, busy_is_watched_with_a_timer_beside_it) {
  acquire_machine machine(waiting::yes);
  const auto next = play(machine, {event::start, event::busy});
  EXPECT_TRUE(next.watch);
  EXPECT_TRUE(next.look_again_timer);
  EXPECT_EQ(next.deliver, answer::none);
  EXPECT_EQ(machine.now(), phase::watching);
}

TEST(acquire_machine, the_timer_looks_again_and_keeps_the_watch) {
  acquire_machine machine(waiting::yes);
  EXPECT_TRUE(play(machine, {event::start, event::busy, event::timer}).enter);
  const auto next = machine.step(event::busy);
  EXPECT_FALSE(next.watch) << "one is out already";
  EXPECT_TRUE(next.look_again_timer);
}

TEST(acquire_machine, a_wake_looks_again_and_watches_anew) {
  acquire_machine machine(waiting::yes);
  EXPECT_TRUE(play(machine, {event::start, event::busy, event::look_again}).enter);
  EXPECT_TRUE(machine.step(event::busy).watch);
}

TEST(acquire_machine, a_direct_handover_ends_the_wait) {
  acquire_machine machine(waiting::yes);
  EXPECT_EQ(play(machine, {event::start, event::busy, event::handed}).deliver, answer::handed_grant);
  EXPECT_EQ(machine.now(), phase::finished);
}

TEST(acquire_machine, a_try_that_finds_it_busy_leaves_nothing_to_clean_up) {
  acquire_machine machine(waiting::no);
  const auto last = play(machine, {event::start, event::busy});
  EXPECT_EQ(last.deliver, answer::busy);
  EXPECT_FALSE(last.leave);
  EXPECT_EQ(machine.now(), phase::finished);
}

TEST(acquire_machine, a_try_without_answer_fails_and_leaves) {
  acquire_machine machine(waiting::no);
  const auto last = play(machine, {event::start, event::unavailable});
  EXPECT_EQ(last.deliver, answer::failure);
  EXPECT_TRUE(last.leave) << "the grant may be there";
  EXPECT_EQ(machine.now(), phase::leaving);
}

TEST(acquire_machine, a_refusal_of_the_first_request_leaves_nothing) {
  acquire_machine machine(waiting::yes);
  const auto last = play(machine, {event::start, event::refused});
  EXPECT_EQ(last.deliver, answer::failure);
  EXPECT_FALSE(last.leave);
  EXPECT_EQ(machine.now(), phase::finished);
}

TEST(acquire_machine, a_refusal_in_the_queue_leaves_the_queue) {
  acquire_machine machine(waiting::yes);
  const auto last = play(machine, {event::start, event::busy, event::timer, event::refused});
  EXPECT_EQ(last.deliver, answer::failure);
  EXPECT_TRUE(last.leave);
}

TEST(acquire_machine, a_deadline_while_entering_answers_at_once_and_leaves_later) {
  acquire_machine machine(waiting::yes);
  const auto now = play(machine, {event::start, event::deadline});
  EXPECT_EQ(now.deliver, answer::timed_out);
  EXPECT_FALSE(now.leave) << "the enter could still take effect after it";
  const auto later = machine.step(event::granted);
  EXPECT_EQ(later.deliver, answer::none);
  EXPECT_TRUE(later.leave);
  EXPECT_EQ(machine.now(), phase::leaving);
  machine.step(event::left);
  EXPECT_EQ(machine.now(), phase::finished);
}

TEST(acquire_machine, a_stale_grant_is_given_back_and_asked_for_anew) {
  acquire_machine machine(waiting::yes);
  const auto back = play(machine, {event::start, event::stale});
  EXPECT_TRUE(back.leave);
  EXPECT_EQ(back.deliver, answer::none);
  EXPECT_TRUE(machine.step(event::left).enter);
  EXPECT_EQ(machine.step(event::granted).deliver, answer::grant);
}

TEST(acquire_machine, giving_up_while_a_stale_grant_is_given_back_is_answered_at_once) {
  acquire_machine machine(waiting::yes);
  EXPECT_EQ(play(machine, {event::start, event::stale, event::cancelled}).deliver, answer::cancelled);
  EXPECT_FALSE(machine.step(event::left).enter);
  EXPECT_EQ(machine.now(), phase::finished);
}

TEST(acquire_machine, a_watch_that_fails_leaves_the_looking_to_a_timer) {
  acquire_machine machine(waiting::yes);
  const auto next = play(machine, {event::start, event::busy, event::watch_failed});
  EXPECT_TRUE(next.look_soon_timer);
  EXPECT_FALSE(next.enter || next.watch);
  EXPECT_TRUE(machine.step(event::timer).enter);
  EXPECT_TRUE(machine.step(event::busy).watch) << "another try";
}

TEST(acquire_machine, silence_pauses_and_asks_again) {
  acquire_machine machine(waiting::yes);
  const auto paused = play(machine, {event::start, event::unavailable});
  EXPECT_TRUE(paused.retry_timer);
  EXPECT_FALSE(paused.enter);
  EXPECT_EQ(machine.now(), phase::pausing);
  EXPECT_TRUE(machine.step(event::timer).enter);
}

TEST(acquire_machine, patience_ends_in_failure_and_a_leave) {
  acquire_machine machine(waiting::yes);
  const auto last = play(machine, {event::start, event::unavailable, event::out_of_patience});
  EXPECT_EQ(last.deliver, answer::failure);
  EXPECT_TRUE(last.leave);
}

}  // namespace
}  // namespace holdfast::detail
