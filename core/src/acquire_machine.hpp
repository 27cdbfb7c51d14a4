#pragma once

#include <cstdint>

namespace holdfast::detail {

/// The protocol of one acquisition at the store, as a pure function: state + event -> state + action.
///
/// No I/O, no clock, no thread. The driver (acquisition) feeds it what happened, one event at a time, and does what it
/// says. The two rules it enforces:
///  - the caller is answered exactly once, and at once when its deadline passes or it cancels;
///  - whatever the store may hold for a caller that was answered without a grant is left, after the last request that
///    could still create it has been answered.
///
/// | phase     | meaning                                          | leaves by                                     |
/// |-----------|--------------------------------------------------|-----------------------------------------------|
/// | idle      | not begun                                        | start                                         |
/// | entering  | an enter is under way                            | its answer                                    |
/// | watching  | in the store's queue                             | a wake, the look-again timer, giving up       |
/// | pausing   | the store did not answer; a retry timer runs     | the timer, giving up                          |
/// | leaving   | cleaning up: answered, or a stale grant          | left                                          |
/// | finished  | nothing of ours is under way but maybe a watch   | -                                             |
class acquire_machine {
 public:
  enum class phase : std::uint8_t { idle, entering, watching, pausing, leaving, finished };

  enum class event : std::uint8_t {
    start,
    granted,          ///< enter: it is ours.
    busy,             ///< enter: in line, or, where we do not queue, refused.
    stale,            ///< enter: it was ours, but the answer took longer than it lasts.
    unavailable,      ///< enter: no answer; the outcome is unknown.
    refused,          ///< enter: answered with an error.
    look_again,       ///< watch: something may be new.
    watch_failed,     ///< watch: it cannot be had; the look-again timer has to do.
    handed,           ///< watch: the store granted it to us.
    timer,            ///< The look-again or retry timer fired.
    deadline,         ///< The caller's wait is over.
    cancelled,        ///< The caller does not want it any more.
    out_of_patience,  ///< The store has not answered for the whole of request_timeout.
    left,             ///< leave is done, or given up.
  };

  enum class answer : std::uint8_t { none, grant, handed_grant, busy, timed_out, cancelled, failure };

  struct action {
    answer deliver = answer::none;
    bool enter = false;
    bool watch = false;
    bool leave = false;
    bool look_again_timer = false;  ///< Start it, at the time the store named.
    bool look_soon_timer = false;   ///< Start it, after a pause, or at that time if it comes first.
    bool retry_timer = false;       ///< Start it, after a pause.
    bool stop_timer = false;
  };

  enum class waiting : std::uint8_t { no, yes };
  explicit acquire_machine(waiting w) noexcept : waits_(w == waiting::yes) {}

  action step(event e) noexcept;
  phase now() const noexcept { return phase_; }

 private:
  action on_entering(event e) noexcept;
  action on_queued(event e) noexcept;
  action on_leaving(event e) noexcept;
  action enter_again() noexcept;
  action give_up(answer with) noexcept;
  action clean_up() noexcept;

  bool waits_;
  phase phase_ = phase::idle;
  bool watch_out_ = false;    // a watch is under way: at most one
  bool maybe_there_ = false;  // the store may know the claim: in its queue, or by an answer that never came
  bool answered_ = false;     // the caller has its answer; the rest is cleaning up
  bool look_owed_ = false;    // woken while an enter was under way: its answer may be older than the wake
  bool again_ = false;        // leaving a stale grant, to begin anew
  bool handed_ = false;       // granted by a wake while an enter was under way
};

}  // namespace holdfast::detail
