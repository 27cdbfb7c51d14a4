#include "acquire_machine.hpp"

#include <utility>

namespace holdfast::detail {

acquire_machine::action acquire_machine::step(event e) noexcept {
  if (e == event::look_again || e == event::handed || e == event::watch_failed) watch_out_ = false;
  switch (phase_) {
    case phase::idle:
      if (e == event::start) return enter_again();
      return {};
    case phase::entering:
      return on_entering(e);
    case phase::watching:
    case phase::pausing:
      return on_queued(e);
    case phase::leaving:
      return on_leaving(e);
    case phase::finished:
      return {};
  }
  return {};
}

acquire_machine::action acquire_machine::enter_again() noexcept {
  phase_ = phase::entering;
  look_owed_ = false;
  action next;
  next.enter = true;
  next.stop_timer = true;
  return next;
}

acquire_machine::action acquire_machine::give_up(answer with) noexcept {
  answered_ = true;
  action next;
  next.deliver = with;
  // While an enter is under way its effect may come after a leave sent now: wait for its answer first.
  if (phase_ == phase::entering) return next;
  next = clean_up();
  next.deliver = with;
  return next;
}

acquire_machine::action acquire_machine::clean_up() noexcept {
  action next;
  next.stop_timer = true;
  next.leave = maybe_there_;
  phase_ = maybe_there_ ? phase::leaving : phase::finished;
  return next;
}

acquire_machine::action acquire_machine::on_leaving(event e) noexcept {
  action next;
  if (e == event::left) {
    if (std::exchange(again_, false)) return enter_again();
    phase_ = phase::finished;
  } else if (again_ && (e == event::deadline || e == event::cancelled)) {
    again_ = false;
    answered_ = true;
    next.deliver = e == event::deadline ? answer::timed_out : answer::cancelled;
  }
  return next;
}

acquire_machine::action acquire_machine::on_entering(event e) noexcept {
  switch (e) {
    case event::look_again:
      look_owed_ = true;
      return {};
    case event::handed:
      handed_ = true;
      return {};
    case event::deadline:
      return answered_ ? action{} : give_up(answer::timed_out);
    case event::cancelled:
      return answered_ ? action{} : give_up(answer::cancelled);
    case event::granted:
    case event::stale:
    case event::busy:
    case event::unavailable:
    case event::refused:
      break;
    default:
      return {};
  }
  if (e == event::granted || e == event::stale || e == event::unavailable || (e == event::busy && waits_))
    maybe_there_ = true;
  if (answered_) return clean_up();
  if (e == event::stale) {
    again_ = true;
    handed_ = false;
    return clean_up();
  }
  if (e == event::granted || handed_) {
    phase_ = phase::finished;
    action next;
    next.deliver = handed_ && e != event::granted ? answer::handed_grant : answer::grant;
    return next;
  }
  if (e == event::refused) return phase_ = phase::watching, give_up(answer::failure);
  if (e == event::unavailable) {
    if (!waits_) return phase_ = phase::watching, give_up(answer::failure);
    phase_ = phase::pausing;
    action next;
    next.retry_timer = true;
    return next;
  }
  if (!waits_) {
    phase_ = phase::finished;
    action next;
    next.deliver = answer::busy;
    return next;
  }
  if (look_owed_) return enter_again();
  phase_ = phase::watching;
  action next;
  next.watch = !watch_out_;
  next.look_again_timer = true;
  watch_out_ = true;
  return next;
}

acquire_machine::action acquire_machine::on_queued(event e) noexcept {
  switch (e) {
    case event::look_again:
    case event::timer:
      return enter_again();
    case event::watch_failed: {
      action next;
      next.look_soon_timer = true;
      return next;
    }
    case event::handed: {
      phase_ = phase::finished;
      action next;
      next.deliver = answer::handed_grant;
      next.stop_timer = true;
      return next;
    }
    case event::deadline:
      return give_up(answer::timed_out);
    case event::cancelled:
      return give_up(answer::cancelled);
    case event::out_of_patience:
      return give_up(answer::failure);
    default:
      return {};
  }
}

}  // namespace holdfast::detail
