#include "acquisition.hpp"

#include "back_off.hpp"
#include "engine.hpp"
#include "grant_hold.hpp"

#include <algorithm>

namespace holdfast::detail {

acquisition::acquisition(std::shared_ptr<engine> engine, spi::claim claim, acquire_terms terms, completion done)
    : engine_(std::move(engine)),
      claim_(std::move(claim)),
      terms_(std::move(terms)),
      began_(engine_->now()),
      machine_(terms_.waits),
      done_(std::move(done)) {}

/// Local queueing is for plain mutexes that do not ask for an order: the others queue at the store, one by one.
bool acquisition::gated() const noexcept { return claim_.kind == spi::kind::mutex && claim_.order == ordering::any; }

void acquisition::start(spi::caller from) {
  if (terms_.stop.stop_requested()) {
    engine_->counters().cancelled.add();
    return answer(failure{errc::cancelled, "the stop_token was stopped before"});
  }
  if (gated()) {
    const bool waits = terms_.waits == acquire_machine::waiting::yes;
    std::unique_lock lock(mutex_);
    parked_ = true;
    lock.unlock();
    const auto where = engine_->gate().arrive(claim_.name, shared_from_this(),
                                              waits ? gates::patience::waits : gates::patience::does_not_wait);
    if (where == gates::arrival::parked) return feed(event::start);
    if (where == gates::arrival::refused) {
      engine_->counters().busy.add();
      return answer(failure{errc::timed_out, {}});
    }
  }
  go_inside(from);
}

void acquisition::go_inside(spi::caller from) {
  std::unique_lock lock(mutex_);
  parked_ = false;
  caller_ = from;
  events_.push_back(event::start);
  run(lock);
}

void acquisition::receive(std::shared_ptr<store_grant> grant, fencing_token token) {
  feed_with(event::handed, [&] {
    passed_ = std::move(grant);
    passed_token_ = token;
  });
}

void acquisition::take_over() {
  auto next = std::make_shared<grant_hold>(engine_, passed_, passed_token_);
  const loss ended = passed_->tenant.with([&](store_grant::tenancy& t) {
    t.holder = next;
    return t.ended;
  });
  engine_->counters().handed_over.add();
  // Lost on the way: given out as it is, so that the caller learns of it as of any loss.
  if (ended != loss::none) engine_->settle_loss(next, ended);
  answer(std::shared_ptr<hold>(std::move(next)));
}

void acquisition::cancel() { feed(event::cancelled); }

void acquisition::feed(event e) {
  std::unique_lock lock(mutex_);
  events_.push_back(e);
  run(lock);
}

void acquisition::feed_with(event e, const std::function<void()>& note) {
  std::unique_lock lock(mutex_);
  note();
  events_.push_back(e);
  run(lock);
}

void acquisition::run(std::unique_lock<std::mutex>& lock) {
  if (running_) return;
  running_ = true;
  const auto self = shared_from_this();  // an answer may drop the last other owner
  while (!events_.empty()) {
    const event e = events_.front();
    events_.erase(events_.begin());
    if (parked_) {
      lock.unlock();
      handle_parked(e);
      lock.lock();
      continue;
    }
    if (machine_.now() == acquire_machine::phase::idle && e != event::start) {
      // Giving up was on its way when the gate let this one in: it is owed once inside.
      missed_ = e;
      continue;
    }
    if (e == event::start && missed_) events_.push_back(*std::exchange(missed_, std::nullopt));
    const action next = machine_.step(e);
    const bool over = machine_.now() == acquire_machine::phase::finished;
    const bool grants =
        next.deliver == acquire_machine::answer::grant || next.deliver == acquire_machine::answer::handed_grant;
    lock.unlock();
    // Out of the gate before the caller knows: its next try must not find this one in the way.
    if (over && !grants) finish();
    try {
      perform(next);
    } catch (const std::exception& no) {
      // No memory, no thread: the caller must not wait for an answer that nobody will bring.
      answer(failure{errc::unavailable, no.what()});
    }
    if (over) finish();
    lock.lock();
    if (over || !events_.empty()) continue;
    lock.unlock();
    arm_giving_up();
    lock.lock();
  }
  running_ = false;
}

void acquisition::handle_parked(event e) {
  contended_ = true;
  if (e == event::start) return arm_giving_up();
  if (e == event::handed) return take_over();
  if (e == event::refused) return deliver(acquire_machine::answer::failure);
  if (e != event::deadline && e != event::cancelled) return;
  if (!engine_->gate().withdraw(claim_.name, this)) {
    // It is being let in or handed the lock this moment. Handed, it has it; let in, it gives up there.
    missed_ = e;
    return;
  }
  deliver(e == event::deadline ? acquire_machine::answer::timed_out : acquire_machine::answer::cancelled);
}

void acquisition::perform(const action& next) {
  if (next.stop_timer) stop_timer();
  if (next.deliver != acquire_machine::answer::none) deliver(next.deliver);
  if (next.enter) enter();
  if (next.watch) watch();
  if (next.leave) leave();
  if (next.look_again_timer) {
    contended_ = true;
    set_timer(look_again_);
  }
  if (next.look_soon_timer) look_soon();
  if (next.retry_timer) pause();
}

/// Deadline and cancellation are armed only for those that really wait: an uncontended acquisition pays for neither.
void acquisition::arm_giving_up() {
  if (armed_ || terms_.waits == acquire_machine::waiting::no) return;
  armed_ = true;
  const std::weak_ptr<acquisition> weak = weak_from_this();
  if (terms_.deadline) {
    deadline_timer_ = engine_->time().at(*terms_.deadline, [weak] {
      if (auto self = weak.lock()) self->feed(event::deadline);
    });
  }
  if (terms_.stop.stop_possible()) {
    on_stop_.emplace(terms_.stop, [weak] {
      if (auto self = weak.lock()) self->feed(event::cancelled);
    });
  }
}

void acquisition::enter() {
  spi::entry_request request;
  request.claim = claim_;
  request.queue = terms_.waits == acquire_machine::waiting::yes;
  request.caller = caller_;
  // The thread that asked is used once; whatever comes later comes on threads that must not block.
  caller_ = spi::caller::must_not_block;
  // With others waiting here, tokens for them too: each local handover takes the next.
  if (gated()) request.tokens = engine_->gate().tokens_wanted(claim_.name);
  asked_at_ = engine_->now();
  engine_->expect(claim_.id);
  engine_->store().enter(request, [self = shared_from_this()](auto answer) { self->on_entered(std::move(answer)); });
}

void acquisition::on_entered(result<spi::entry_result> answer) {
  if (!answer) {
    const bool again = answer.error().code == errc::unavailable;
    return feed_with(again ? event::unavailable : event::refused, [&] { why_ = std::move(answer.error()); });
  }
  if (auto* grant = std::get_if<spi::granted>(&*answer)) {
    return feed_with(outlived(*grant, asked_at_) ? event::stale : event::granted, [&] {
      entered_ = *grant;
      answered_once_ = true;
    });
  }
  feed_with(event::busy, [&] {
    look_again_ = std::get<spi::busy>(*answer).look_again;
    answered_once_ = true;
    failing_since_.reset();
    failures_ = 0;
  });
}

/// The validity of a grant that took longer to arrive than it lasts is over before anybody sees it.
bool acquisition::outlived(const spi::granted& grant, lease_clock::time_point since) const {
  if (claim_.kind == spi::kind::semaphore || claim_.kind == spi::kind::latch) return false;
  return store_grant::validity(grant.expires, since, claim_.ttl) <= engine_->now();
}

void acquisition::watch() {
  engine_->store().watch(claim_, [self = shared_from_this()](result<spi::wake> woken) {
    if (!woken)
      return self->feed_with(event::watch_failed, [&] { self->watch_why_ = std::move(woken.error().detail); });
    auto* grant = std::get_if<spi::granted>(&*woken);
    // One that is over already is looked for again, and found stale.
    if (grant == nullptr || self->outlived(*grant, self->engine_->now())) return self->feed(event::look_again);
    self->feed_with(event::handed, [&] { self->handed_ = *grant; });
  });
}

void acquisition::look_soon() {
  if (watch_failures_ == 0) engine_->log(log_level::warning, "watching '" + claim_.name + "': " + watch_why_);
  set_timer(std::min(look_again_, engine_->now() + back_off(watch_failures_++)));
}

void acquisition::leave() {
  engine_->store().leave(claim_, spi::caller::must_not_block,
                         [self = shared_from_this()](result<bool> done) { self->on_left(done); });
}

void acquisition::on_left(const result<bool>& answer) {
  if (answer || answer.error().code != errc::unavailable) {
    if (!answer) engine_->log(log_level::warning, "leaving '" + claim_.name + "': " + answer.error().detail);
    return feed(event::left);
  }
  const auto now = engine_->now();
  std::unique_lock lock(mutex_);
  if (!failing_since_) failing_since_ = now;
  const bool again = now - *failing_since_ < engine_->options().request_timeout;
  const auto pause = back_off(failures_++);
  lock.unlock();
  if (!again) {
    engine_->log(log_level::warning, "leaving '" + claim_.name + "': " + answer.error().detail + "; left to its ttl");
    return feed(event::left);
  }
  engine_->time().at(now + pause, [self = shared_from_this()] { self->leave(); });
}

void acquisition::pause() {
  const auto now = engine_->now();
  // From when it was asked, not from when it failed: the caller's time counts.
  if (!failing_since_) failing_since_ = asked_at_;
  if (now - *failing_since_ >= engine_->options().request_timeout) {
    hopeless_ = true;
    return feed(event::out_of_patience);
  }
  set_timer(now + back_off(failures_++));
}

/// Keeps this alive: between two tries nobody else does.
void acquisition::set_timer(lease_clock::time_point when) {
  stop_timer();
  timer_ = engine_->time().at(when, [self = shared_from_this()] { self->feed(event::timer); });
}

void acquisition::stop_timer() {
  if (timer_ != 0) engine_->time().cancel(timer_);
  timer_ = 0;
}

void acquisition::deliver(acquire_machine::answer what) {
  using kind = acquire_machine::answer;
  switch (what) {
    case kind::none:
      return;
    case kind::grant:
    case kind::handed_grant:
      holds_ = true;
      return answer(engine_->admit(claim_, what == kind::grant ? entered_ : handed_, terms_.life));
    case kind::busy:
      engine_->counters().busy.add();
      return answer(failure{errc::timed_out, {}});
    case kind::timed_out: {
      engine_->counters().timed_out.add();
      std::unique_lock lock(mutex_);  // the answer to the last question may come this moment
      // Silence of the store to the end is not contention.
      auto why = failing_since_ ? why_ : failure{errc::timed_out, {}};
      // (One that was parked has waited for somebody here, not for the store.)
      if (!contended_ && !failing_since_ && !answered_once_)
        why = {errc::unavailable, "the store did not answer within the wait"};
      lock.unlock();
      return answer(std::move(why));
    }
    case kind::cancelled:
      engine_->counters().cancelled.add();
      return answer(failure{errc::cancelled, {}});
    case kind::failure:
      engine_->counters().failed.add();
      return answer(why_);
  }
}

void acquisition::answer(result<std::shared_ptr<hold>> outcome) {
  completion done;
  {
    std::lock_guard lock(mutex_);
    done = std::move(done_);
  }
  if (deadline_timer_ != 0) engine_->time().cancel(deadline_timer_);
  if (!done) return;
  if (outcome) {
    engine_->counters().acquired.add();
    engine_->counters().wait.record(engine_->now() - began_);
    if (contended_) engine_->counters().contended.add();
    if (*outcome) engine_->note_acquired(**outcome);
  }
  done(std::move(outcome));
}

void acquisition::fail(const failure& why) {
  feed_with(event::refused, [&] { why_ = why; });
}

void acquisition::finish() {
  if (std::exchange(finished_, true)) return;
  on_stop_.reset();
  if (holds_) return;
  engine_->forget_expected(claim_.id);
  if (!gated()) return;
  // Those behind have waited as long for the same silence.
  if (hopeless_) engine_->fail_parked(claim_.name, why_);
  engine_->depart(claim_.name, spi::caller::must_not_block);
}

}  // namespace holdfast::detail
