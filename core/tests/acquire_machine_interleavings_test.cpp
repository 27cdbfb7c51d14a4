#include "acquire_machine.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Every order in which a store, a clock and a caller can talk to one acquisition, to a depth: the rules must hold in
// all of them.

namespace holdfast::detail {
namespace {

using event = acquire_machine::event;
using answer = acquire_machine::answer;
using action = acquire_machine::action;
using phase = acquire_machine::phase;
using waiting = acquire_machine::waiting;

const char* name_of(event e) {
  switch (e) {
    case event::start:
      return "start";
    case event::granted:
      return "granted";
    case event::busy:
      return "busy";
    case event::stale:
      return "stale";
    case event::unavailable:
      return "unavailable";
    case event::refused:
      return "refused";
    case event::look_again:
      return "look_again";
    case event::watch_failed:
      return "watch_failed";
    case event::handed:
      return "handed";
    case event::timer:
      return "timer";
    case event::deadline:
      return "deadline";
    case event::cancelled:
      return "cancelled";
    case event::out_of_patience:
      return "out_of_patience";
    case event::left:
      return "left";
  }
  return "?";
}

bool answers_enter(event e) {
  return e == event::granted || e == event::busy || e == event::stale || e == event::unavailable || e == event::refused;
}

/// The world around one machine: which events can happen next, and what the rules say about its actions.
struct world {
  explicit world(waiting w) : waits(w == waiting::yes), machine(w) {}

  bool waits;
  acquire_machine machine;

  // What is under way.
  bool enter_out = false;
  bool watch_out = false;
  bool leave_out = false;
  bool timer_set = false;
  bool timer_is_retry = false;
  bool stale_timer = false;  // fired in the moment it was stopped: its event is on the way
  bool deadline_left = true;
  bool cancel_left = true;
  bool started = false;

  // What happened.
  answer answered = answer::none;
  bool store_may_know = false;
  bool woken_while_entering = false;
  bool handed_while_entering = false;
  bool watch_failed = false;  // the latest one

  bool has_grant() const { return answered == answer::grant || answered == answer::handed_grant; }

  std::vector<event> possible() const {
    if (!started) return {event::start};
    std::vector<event> all;
    if (enter_out)
      all.insert(all.end(), {event::granted, event::busy, event::stale, event::unavailable, event::refused});
    if (watch_out) all.insert(all.end(), {event::look_again, event::watch_failed, event::handed});
    if (timer_set || stale_timer) all.push_back(event::timer);
    if (timer_set && timer_is_retry) all.push_back(event::out_of_patience);
    if (leave_out) all.push_back(event::left);
    if (waits && deadline_left) all.push_back(event::deadline);
    if (cancel_left) all.push_back(event::cancelled);
    return all;
  }

  /// What the event itself changes in the world.
  void happens(event e) {
    switch (e) {
      case event::start:
        started = true;
        break;
      case event::granted:
      case event::busy:
      case event::stale:
      case event::unavailable:
      case event::refused:
        enter_out = false;
        if (e != event::refused && (e != event::busy || waits)) store_may_know = true;
        break;
      case event::look_again:
      case event::watch_failed:
      case event::handed:
        watch_out = false;
        watch_failed = e == event::watch_failed;
        if (e == event::look_again && enter_out) woken_while_entering = true;
        if (e == event::handed && enter_out) handed_while_entering = true;
        break;
      case event::timer:
        if (timer_set)
          timer_set = false;
        else
          stale_timer = false;
        break;
      case event::out_of_patience:
        timer_set = false;
        break;
      case event::deadline:
        deadline_left = false;
        break;
      case event::cancelled:
        cancel_left = false;
        break;
      case event::left:
        leave_out = false;
        store_may_know = false;
        break;
    }
  }

  /// Does the event, checks the action, applies it. Empty: all rules hold.
  std::string step(event e) {
    const bool was_answered = answered != answer::none;
    const bool had_grant = has_grant();
    happens(e);
    const action next = machine.step(e);

    if (next.deliver != answer::none && was_answered) return "the caller is answered twice";
    if ((e == event::deadline || e == event::cancelled) && !was_answered && next.deliver == answer::none)
      return "the caller who gave up is not answered at once";
    if (next.leave && enter_out) return "a leave while an enter is out";
    if (next.leave && leave_out) return "two leaves out";
    if (next.enter && enter_out) return "two enters out";
    if (next.enter && (was_answered || leave_out)) return "an enter after the answer";
    if (next.watch && watch_out) return "two watches out";
    if (next.watch && was_answered) return "a watch after the answer";
    if (had_grant && (next.leave || next.enter || next.watch || next.deliver != answer::none))
      return "something is done after the grant was delivered";
    if (!waits && (next.watch || next.look_again_timer || next.look_soon_timer || next.retry_timer))
      return "a try waits";
    if (auto broken = check_answer(e, next, was_answered); !broken.empty()) return broken;

    apply(next);
    return check_state();
  }

  /// Rules about what an answer to enter must lead to.
  std::string check_answer(event e, const action& next, bool was_answered) {
    if (!answers_enter(e)) return {};
    const bool woken = std::exchange(woken_while_entering, false);
    const bool handed = std::exchange(handed_while_entering, false);
    if (was_answered) return next.deliver == answer::none ? "" : "answered twice";
    // (A stale grant is the one that was handed over: both are over.)
    if (handed && e != event::stale && next.deliver != answer::grant && next.deliver != answer::handed_grant)
      return "a handover while entering is lost";
    if (e == event::granted && next.deliver != answer::grant) return "a grant is not delivered";
    if (e == event::stale && (next.deliver != answer::none || !next.leave)) return "a stale grant is not given back";
    if (woken && waits && e == event::busy && !handed && !next.enter) return "a wake while entering is lost";
    return {};
  }

  void apply(const action& next) {
    if (next.deliver != answer::none) answered = next.deliver;
    if (next.enter) enter_out = true;
    if (next.watch) watch_out = true;
    if (next.leave) leave_out = true;
    if (next.stop_timer && timer_set) {
      timer_set = false;
      stale_timer = true;
    }
    if (next.look_again_timer || next.look_soon_timer || next.retry_timer) {
      timer_set = true;
      timer_is_retry = next.retry_timer;
    }
  }

  std::string check_state() const {
    const bool over = machine.now() == phase::finished;
    if (over && answered == answer::none) return "finished without an answer";
    if (over && (enter_out || leave_out)) return "finished with a request out";
    if (over && !has_grant() && store_may_know) return "finished and left something in the store";
    if (!over && !enter_out && !leave_out && !timer_set) return "nothing will ever happen again";
    if (machine.now() == phase::watching && !timer_set) return "watching without a timer";
    if (machine.now() == phase::watching && !watch_out && !watch_failed) return "watching without a watch";
    if (machine.now() == phase::entering && !enter_out) return "entering without an enter";
    if (!over && has_grant()) return "a grant was delivered and the machine goes on";
    return {};
  }
};

struct exploration {
  std::size_t paths = 0;
  std::size_t finished = 0;
  std::string broken;

  void explore(const world& from, unsigned depth, const std::string& path) {
    ++paths;
    if (from.machine.now() == phase::finished) ++finished;
    if (depth == 0) return;
    for (const event e : from.possible()) {
      world next = from;
      const auto rule = next.step(e);
      const auto way = path + " " + name_of(e);
      if (!rule.empty()) {
        broken = rule + ":" + way;
        return;
      }
      explore(next, depth - 1, way);
      if (!broken.empty()) return;
    }
  }
};

TEST(acquire_machine_interleavings, the_rules_hold_in_every_order_of_events_for_one_that_waits) {
  exploration all;
  all.explore(world(waiting::yes), 12, "");
  EXPECT_EQ(all.broken, "");
  EXPECT_GT(all.paths, 100'000U);
  EXPECT_GT(all.finished, 10'000U);
}

TEST(acquire_machine_interleavings, the_rules_hold_in_every_order_of_events_for_one_that_does_not_wait) {
  exploration all;
  all.explore(world(waiting::no), 12, "");
  EXPECT_EQ(all.broken, "");
  EXPECT_GT(all.finished, 5U);
}

}  // namespace
}  // namespace holdfast::detail
