#include "memory_backend.hpp"

#include <utility>

namespace holdfast::memory {
namespace {

bool is_count(spi::kind k) noexcept { return k == spi::kind::semaphore || k == spi::kind::latch; }

/// The number behind the name, made if there is none. Fails if the name is in other use.
result<count_state*> count_of(name_state& state, const std::string& name, spi::kind wanted, spi::time_point now,
                              wakeups& woken) {
  state.lock.sweep(now, woken);
  if (state.lock.in_use()) return other_kind(name, wanted, state.lock.kind());
  if (state.count && state.count->kind() != wanted) {
    if (state.count->in_use()) return other_kind(name, wanted, state.count->kind());
    state.count.reset();
  }
  if (!state.count) state.count = std::make_unique<count_state>(wanted);
  return state.count.get();
}

}  // namespace

memory_backend::memory_backend(const std::string& key, spi::runtime& engine)
    : key_(key), engine_(engine), store_(store::named(key)), session_(std::make_shared<session>(engine)) {}

memory_backend::~memory_backend() {
  wakeups woken;
  store_->forget_waiters_of(*session_, engine_.now(), woken);
  woken.fire();
  session_->close();
}

result<spi::entry_result> memory_backend::enter_locked(const spi::entry_request& request, name_state& state,
                                                       spi::time_point now, wakeups& woken) {
  const spi::claim& claim = request.claim;
  if (is_count(claim.kind)) {
    auto count = count_of(state, claim.name, claim.kind, now, woken);
    if (!count) return std::move(count).error();
    return (*count)->enter(request, session_, now);
  }
  if (state.count && state.count->in_use()) return other_kind(claim.name, claim.kind, state.count->kind());
  return state.lock.enter(request, session_, now, woken);
}

void memory_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  wakeups woken;
  auto outcome = [&] {
    const spi::time_point now = engine_.now();
    const auto name = store_->make(request.claim.name, now, woken);
    return enter_locked(request, *name, now, woken);
  }();
  woken.fire();
  store_->changed(request.claim.name);
  done(std::move(outcome));
}

void memory_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  wakeups woken;
  std::optional<spi::wake> ended = spi::look_again{};
  if (const auto name = store_->find(queued.name)) {
    if (!is_count(queued.kind)) {
      ended = (*name)->lock.watch(queued.id, done, woken);
    } else if ((*name)->count) {
      ended = (*name)->count->watch(queued.id, done, woken);
    }
  }
  woken.fire();
  if (ended) done(*ended);
}

void memory_backend::leave(const spi::claim& ours, spi::caller, spi::completion<bool> done) {
  wakeups woken;
  bool left = false;
  if (const auto name = store_->find(ours.name)) {
    if (!is_count(ours.kind)) {
      lock_state& lock = (*name)->lock;
      left = lock.leave(ours.id, woken);
      if (lock.in_use()) lock.sweep(engine_.now(), woken);
    } else if ((*name)->count) {
      left = (*name)->count->leave(ours.id, woken);
    }
  }
  woken.fire();
  store_->changed(ours.name);
  done(left);
}

void memory_backend::renew(const std::vector<spi::claim>& held,
                           spi::completion<std::vector<spi::renewal_outcome>> done) {
  wakeups woken;
  std::vector<spi::renewal_outcome> outcomes;
  outcomes.reserve(held.size());
  for (const spi::claim& claim : held) {
    const auto name = store_->find(claim.name);
    outcomes.push_back(name ? (*name)->lock.renew(claim.id, claim.ttl, engine_.now(), woken)
                            : spi::renewal_outcome{spi::renewal::lost, {}});
  }
  woken.fire();
  done(std::move(outcomes));
}

template <class Change>
result<bool> memory_backend::change_held(const spi::claim& held, Change change) {
  wakeups woken;
  auto outcome = [&]() -> result<bool> {
    const auto name = store_->find(held.name);
    if (!name) return {errc::lost, "the store does not know this lease any more"};
    return change((*name)->lock, engine_.now(), woken);
  }();
  woken.fire();
  store_->changed(held.name);
  return outcome;
}

void memory_backend::convert(const spi::claim& held, spi::access to, spi::caller, spi::completion<bool> done) {
  done(change_held(held, [&](lock_state& lock, spi::time_point now, wakeups& woken) {
    return lock.convert(held.id, to, now, woken);
  }));
}

void memory_backend::raise(const spi::claim& held, fencing_token floor, spi::caller, spi::completion<bool> done) {
  done(change_held(held, [&](lock_state& lock, spi::time_point now, wakeups& woken) {
    return lock.raise(held.id, floor, now, woken);
  }));
}

void memory_backend::count(const spi::count_request& request, spi::caller, spi::completion<spi::count_reply> done) {
  wakeups woken;
  auto reply = [&]() -> result<spi::count_reply> {
    const spi::time_point now = engine_.now();
    const auto name = store_->make(request.name, now, woken);
    auto count = count_of(*name, request.name, request.kind, now, woken);
    if (!count) return std::move(count).error();
    return (*count)->apply(request, woken);
  }();
  woken.fire();
  store_->changed(request.name);
  done(std::move(reply));
}

void memory_backend::load_cell(const std::string& name, spi::caller, spi::completion<spi::cell_value> done) {
  done(store_->load_cell(name));
}

void memory_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                                   spi::caller, spi::completion<bool> done) {
  done(store_->exchange_cell(name, expected, std::move(value), id));
}

void memory_backend::admit(const std::string& name, fencing_token token, spi::caller,
                           spi::completion<fencing_token> done) {
  done(store_->admit(name, token));
}

void memory_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  wakeups woken;
  auto found = store_->inspect(prefix, engine_.now(), woken);
  woken.fire();
  done(std::move(found));
}

void memory_backend::evict(const std::string& name, spi::completion<bool> done) {
  std::vector<lock_state::owned> holders;
  if (const auto found = store_->find(name)) holders = (*found)->lock.holders();
  // They hear of it while they still stand in the store: before the next one can get in.
  for (const auto& holder : holders) holder.client->lost(holder.id);
  wakeups woken;
  if (const auto found = store_->find(name)) {
    for (const auto& holder : holders) (*found)->lock.leave(holder.id, woken);
    (*found)->lock.sweep(engine_.now(), woken);
  }
  woken.fire();
  if (!holders.empty()) store_->changed(name);
  done(!holders.empty());
}

std::function<void()> memory_backend::observe(const std::string& prefix, std::function<void()> changed) {
  return store_->observe(prefix, std::move(changed));
}

}  // namespace holdfast::memory
