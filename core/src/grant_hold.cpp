#include "grant_hold.hpp"

#include "blocking.hpp"
#include "engine.hpp"

namespace holdfast::detail {

namespace {

std::stop_token stopped_token() {
  static const std::stop_source stopped = [] {
    std::stop_source source;
    source.request_stop();
    return source;
  }();
  return stopped.get_token();
}

}  // namespace

grant_hold::grant_hold(std::shared_ptr<engine> engine, std::shared_ptr<store_grant> grant, fencing_token token)
    : engine_(std::move(engine)), grant_(std::move(grant)), token_(token), since_(engine_->now()) {}

grant_hold::~grant_hold() = default;

lease_clock::time_point grant_hold::valid_until() const noexcept {
  return valid() ? grant_->valid_until() : lease_clock::time_point::min();
}

lease_clock::time_point grant_hold::now() const noexcept { return engine_->now(); }

bool grant_hold::valid() const noexcept { return held() && engine_->in_own_process() && !grant_->over(engine_->now()); }

void grant_hold::look_at_clock() const noexcept {
  if (!held()) return;
  const auto now = engine_->now();
  if (!grant_->over(now)) return;
  // Longer than its own time it was paused; else the session was silent for too long.
  const bool by_session = now < grant_->valid_until();
  engine_->end_grant(grant_, by_session || grant_->unanswered > 0 ? loss::unreachable : loss::expired);
}

std::stop_token grant_hold::lost() const noexcept {
  if (!engine_->in_own_process()) return stopped_token();
  look_at_clock();
  std::stop_source source{std::nostopstate};
  {
    std::lock_guard lock(source_mutex_);
    if (!source_.stop_possible()) source_ = std::stop_source();
    source = source_;
  }
  // After the source is there: either lose() finds it, or we find that it happened.
  if (known_lost()) source.request_stop();
  return source.get_token();
}

loss grant_hold::loss_cause() const noexcept {
  if (!engine_->in_own_process()) return loss::session_ended;
  look_at_clock();
  return status_.load().cause;
}

bool grant_hold::end(state as, loss cause) noexcept {
  status expected;
  return status_.compare_exchange_strong(expected, status{as, cause});
}

bool grant_hold::lose(loss cause) noexcept { return end(state::lost, cause); }

void grant_hold::signal_loss() const noexcept {
  std::stop_source source{std::nostopstate};
  {
    std::lock_guard lock(source_mutex_);
    source = source_;
  }
  source.request_stop();
}

failure grant_hold::not_held() const {
  if (!engine_->in_own_process()) return {errc::not_owner, "this lease was made before fork()"};
  if (known_lost()) return {errc::lost, to_string(status_.load().cause)};
  return {errc::not_owner, "this lease was released before"};
}

result<void> grant_hold::renew() {
  if (!engine_->in_own_process()) return not_held();
  look_at_clock();
  if (!held()) return not_held();
  auto done = engine_->renew(grant_);
  // It may have been lost while the answer was on its way.
  if (done && !valid()) return look_at_clock(), not_held();
  return done;
}

/// What a release by the holder finds: nothing (go on), or why there is nothing to release. A loss is told once.
result<void> grant_hold::mark_released() {
  if (!engine_->in_own_process()) return not_held();
  look_at_clock();
  if (end(state::released, loss::none)) return {};
  status seen = status_;
  const bool first =
      seen.what == state::lost && status_.compare_exchange_strong(seen, status{state::released, seen.cause});
  if (first) return {errc::lost, to_string(seen.cause)};
  return {errc::not_owner, "this lease was released before"};
}

result<void> grant_hold::release() {
  if (auto marked = mark_released(); !marked) return marked;
  return wait_for<void>(
      [&](auto done) { engine_->release(grant_, token_, since_, spi::caller::may_block, std::move(done)); });
}

void grant_hold::begin_release(unique_function<void(result<void>)> done) {
  if (auto marked = mark_released(); !marked) return done(marked);
  engine_->release(grant_, token_, since_, spi::caller::must_not_block, std::move(done));
}

result<bool> grant_hold::convert(spi::access to) {
  if (!engine_->in_own_process()) return not_held();
  look_at_clock();
  if (!held()) return not_held();
  if (grant_->kind() != spi::kind::shared_mutex)
    return {errc::unsupported, "only leases of a shared_mutex are downgraded or upgraded"};
  if (grant_->claim().access == to) return true;
  return engine_->convert(grant_, to);
}

result<void> grant_hold::downgrade() {
  auto done = convert(spi::access::shared);
  if (!done) return done.error();
  if (!*done) return {errc::rejected, "the store did not downgrade the lock"};
  return {};
}

result<bool> grant_hold::try_upgrade() { return convert(spi::access::exclusive); }

void grant_hold::drop() noexcept {
  if (!engine_->in_own_process() || !held()) return;
  try {
    if (auto done = release(); !done && done.error().code != errc::lost)
      engine_->log(log_level::warning, "releasing '" + name() + "': " + done.error().detail + "; left to its ttl");
  } catch (const std::exception& e) {
    engine_->log(log_level::warning, e.what());
  }
}

}  // namespace holdfast::detail
