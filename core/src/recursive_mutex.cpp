#include <holdfast/recursive_mutex.hpp>

#include "blocking.hpp"
#include "claims.hpp"
#include "face.hpp"
#include "reentrant_core.hpp"

namespace holdfast {

namespace {

using detail::reentrant_core;

/// The hold behind a lease of this library's own making is moved out, to be shared by all entries.
std::optional<std::shared_ptr<detail::hold>> enter(reentrant_core& core, const acquire_options& options,
                                                   std::stop_token stop, const char* operation) {
  auto outcome = detail::wait_for<std::shared_ptr<detail::hold>>([&](auto done) {
    detail::begin(*core.engine, detail::mutex_claim(core.name, core.options), options, std::move(stop),
                  spi::caller::may_block, std::move(done));
  });
  if (outcome) return std::move(*outcome);
  if (outcome.error().code == errc::timed_out) return std::nullopt;
  throw error(std::move(outcome.error()), operation, core.name);
}

acquire_options try_options(acquire_options options) {
  if (!options.wait.has_value()) options.wait = std::chrono::nanoseconds::zero();
  return options;
}

}  // namespace

recursive_mutex::recursive_mutex(client c, std::string name, lock_options options) {
  detail::require(c, name, c.engine()->supports().mutex, "recursive_mutex");
  detail::require_order(c, name, options);
  struct shared_state {
    client user;
    std::shared_ptr<reentrant_core> core;
  };
  auto core = std::make_shared<reentrant_core>(c.engine(), std::move(name), options);
  auto* const seen = core.get();
  // The client goes with the lock object; a lease that outlives it keeps the core alone.
  core_ = {std::make_shared<shared_state>(std::move(c), std::move(core)), seen};
}

recursive_mutex::~recursive_mutex() = default;

const std::string& recursive_mutex::name() const noexcept { return core_->name; }

void recursive_mutex::lock() {
  if (core_->reenter()) return;
  core_->adopt(*enter(*core_, {}, {}, "lock"), detail::this_thread_number());
}

bool recursive_mutex::try_lock() { return try_lock_within(std::chrono::nanoseconds::zero()); }

bool recursive_mutex::try_lock_within(optional_duration wait) {
  if (core_->reenter()) return true;
  auto got = enter(*core_, try_options({.wait = wait}), {}, "try_lock");
  if (got) core_->adopt(std::move(*got), detail::this_thread_number());
  return got.has_value();
}

void recursive_mutex::unlock() noexcept {
  if (!core_->unlock())
    core_->engine->log(log_level::warning,
                       "unlock of '" + core_->name + "', which this thread does not hold: nothing done");
}

lease recursive_mutex::acquire(acquire_options options, std::stop_token stop) {
  auto entered = core_->reenter();
  if (!entered) {
    auto got = enter(*core_, options, std::move(stop), "acquire");
    if (!got) throw error({errc::timed_out, {}}, "acquire", core_->name);
    entered = core_->adopt(std::move(*got), detail::this_thread_number());
  }
  return core_->nested(*entered);
}

std::optional<lease> recursive_mutex::try_acquire(acquire_options options, std::stop_token stop) {
  auto entered = core_->reenter();
  if (!entered) {
    auto got = enter(*core_, try_options(options), std::move(stop), "try_acquire");
    if (!got) return std::nullopt;
    entered = core_->adopt(std::move(*got), detail::this_thread_number());
  }
  return core_->nested(*entered);
}

operation<lease> recursive_mutex::async_acquire(acquire_options options, std::stop_token stop) {
  auto& e = *core_->engine;
  auto state = std::make_shared<detail::operation_state<lease>>(e.callbacks(), core_->name);
  try {
    const auto entered = core_->reenter();
    if (!entered)
      return detail::async_acquire(e, detail::mutex_claim(core_->name, core_->options), options, std::move(stop));
    state->complete(core_->nested(*entered));
  } catch (const error& lost) {
    state->complete(failure{lost.code(), lost.detail()});
  }
  return operation<lease>(std::move(state));
}

}  // namespace holdfast
