#include "face.hpp"

#include "ask.hpp"
#include "blocking.hpp"
#include "name.hpp"
#include "terms.hpp"

#include <holdfast/detail/hold.hpp>

namespace holdfast::detail {

namespace {

enum class unset_wait { for_ever, not_at_all };

struct prepared {
  spi::claim claim;
  acquire_terms terms;
};

result<prepared> prepare(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop,
                         unset_wait unset) {
  prepared p{std::move(claim), {}};
  if (options.wait.has_value() && options.wait.value() < 0ns)
    return {errc::invalid_argument, "wait: negative; leave it out to wait for ever, 0s not to wait"};
  if (options.ttl.has_value()) {
    if (auto good = check_ttl(options.ttl.value()); !good) return good.error();
    p.terms.life = store_grant::life::fixed;
  }
  p.claim.id = spi::owner_id::random();
  p.claim.ttl = options.ttl.value_or(e.options().ttl);
  p.terms.stop = std::move(stop);
  const auto wait = options.wait.has_value()          ? options.wait
                    : unset == unset_wait::not_at_all ? optional_duration(0ns)
                                                      : optional_duration();
  if (!wait.has_value()) return p;
  if (wait.value() == 0ns) p.terms.waits = acquire_machine::waiting::no;
  // A wait too long for the clock is a wait for ever.
  const auto now = e.now();
  if (wait.value() < lease_clock::time_point::max() - now) p.terms.deadline = now + wait.value();
  return p;
}

/// A caller that can neither time out nor be cancelled may be blocked inside the store.
spi::caller blocking_caller(const acquire_terms& terms) {
  const bool for_ever = terms.waits == acquire_machine::waiting::yes && !terms.deadline && !terms.stop.stop_possible();
  return for_ever ? spi::caller::waits : spi::caller::may_block;
}

result<std::shared_ptr<hold>> obtain(engine& e, prepared p) {
  const auto from = blocking_caller(p.terms);
  return wait_for<std::shared_ptr<hold>>([&](auto done, parker& sleeper) {
    p.terms.sleeper = &sleeper;
    const auto begun = e.acquire(std::move(p.claim), std::move(p.terms), from, std::move(done));
    if (begun && begun->watches()) sleeper.lend(e.store());
  });
}

std::optional<lease> lease_or_throw(result<std::shared_ptr<hold>> outcome, const char* operation,
                                    const std::string& name) {
  if (outcome) return lease(std::move(*outcome));
  if (outcome.error().code == errc::timed_out) return std::nullopt;
  throw error(std::move(outcome.error()), operation, name);
}

template <class T, class Convert>
operation<T> start(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop, Convert convert,
                   unique_function<void()> undo = nullptr) {
  auto state = std::make_shared<operation_state<T>>(e.callbacks(), claim.name);
  state->on_discard(std::move(undo));
  auto begun =
      begin(e, std::move(claim), options, std::move(stop), spi::caller::must_not_block,
            [state, convert](result<std::shared_ptr<hold>> outcome) { state->complete(convert(std::move(outcome))); });
  if (begun) {
    state->on_abandon([weak = std::weak_ptr(begun), owner = e.weak_from_this()] {
      const auto alive = owner.lock();
      if (!alive || !alive->in_own_process()) return;
      if (auto a = weak.lock()) a->cancel();
    });
  }
  return operation<T>(std::move(state));
}

}  // namespace

std::shared_ptr<acquisition> begin(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop,
                                   spi::caller from, acquisition::completion done) {
  auto p = prepare(e, std::move(claim), options, std::move(stop), unset_wait::for_ever);
  if (!p) return done(std::move(p.error())), nullptr;
  return e.acquire(std::move(p->claim), std::move(p->terms), from, std::move(done));
}

lease acquire(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop) {
  const auto name = claim.name;
  auto p = prepare(e, std::move(claim), options, std::move(stop), unset_wait::for_ever);
  if (!p) throw error(std::move(p.error()), "acquire", name);
  auto outcome = obtain(e, std::move(*p));
  if (!outcome) throw error(std::move(outcome.error()), "acquire", name);
  return lease(std::move(*outcome));
}

std::optional<lease> try_acquire(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop) {
  const auto name = claim.name;
  auto p = prepare(e, std::move(claim), options, std::move(stop), unset_wait::not_at_all);
  if (!p) throw error(std::move(p.error()), "try_acquire", name);
  return lease_or_throw(obtain(e, std::move(*p)), "try_acquire", name);
}

operation<lease> async_acquire(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop) {
  return start<lease>(e, std::move(claim), options, std::move(stop),
                      [](result<std::shared_ptr<hold>> outcome) -> result<lease> {
                        if (!outcome) return std::move(outcome.error());
                        return lease(std::move(*outcome));
                      });
}

bool pass(engine& e, spi::claim claim, const optional_duration& wait, std::stop_token stop, const char* operation) {
  const auto name = claim.name;
  acquire_options options;
  options.wait = wait.has_value() && wait.value() < 0ns ? optional_duration(0ns) : wait;
  auto p = prepare(e, std::move(claim), options, std::move(stop), unset_wait::for_ever);
  if (!p) throw error(std::move(p.error()), operation, name);
  auto outcome = obtain(e, std::move(*p));
  if (outcome) return true;
  if (outcome.error().code == errc::timed_out) return false;
  throw error(std::move(outcome.error()), operation, name);
}

operation<void> async_pass(engine& e, spi::claim claim, const acquire_options& options, std::stop_token stop) {
  unique_function<void()> undo;
  if (claim.kind == spi::kind::semaphore) {
    // Permits have no owner and no ttl: those of an abandoned wait are given back, or they are gone for ever.
    undo = [self = e.shared_from_this(), name = claim.name, n = claim.permits] {
      const spi::count_request back{name, spi::kind::semaphore, spi::count_request::op::add, n,
                                    spi::owner_id::random()};
      ask<spi::count_reply>(*self, "release", name,
                            [&](auto done) { self->store().count(back, spi::caller::may_block, std::move(done)); });
    };
  }
  const auto convert = [](result<std::shared_ptr<hold>> outcome) -> result<void> {
    if (!outcome) return std::move(outcome.error());
    return {};
  };
  return start<void>(e, std::move(claim), options, std::move(stop), convert, std::move(undo));
}

void require(const client& c, const std::string& name, bool has, const char* what) {
  if (auto good = check_name(name); !good) throw error(good.error(), what, {});
  if (!has) throw error({errc::unsupported, "the store " + c.url() + " has no " + what}, what, name);
}

void require_order(const client& c, const std::string& name, const lock_options& options) {
  if (options.order == ordering::fifo && !c.engine()->supports().fifo)
    throw error({errc::unsupported, "the store " + c.url() + " has no queue: ordering::fifo is not possible"},
                "lock_options", name);
}

}  // namespace holdfast::detail
