#include "count_state.hpp"

#include "lock_state.hpp"

#include <algorithm>

namespace holdfast::memory {
namespace {

constexpr std::size_t remembered_steps = 64;
// Nothing expires here and no wake-up can be lost, so a waiter has no reason to look; the engine wants some time.
constexpr auto no_need_to_look = std::chrono::hours(1);

constexpr bool is_step(spi::count_request::op what) noexcept { return what != spi::count_request::op::get; }

}  // namespace

bool count_state::in_use() const noexcept {
  return !queue_.empty() || !unclaimed_.empty() || (kind_ == spi::kind::semaphore ? set_ : value_ != 0);
}

spi::entry_result count_state::enter(const spi::entry_request& request, const std::shared_ptr<session>& client,
                                     spi::time_point now) {
  const spi::claim& claim = request.claim;
  if (std::erase_if(unclaimed_, [&](const waiter& w) { return w.id == claim.id; }) != 0) return spi::granted{};
  if (recall(claim.id) != nullptr) return spi::granted{};
  const spi::busy busy{now + no_need_to_look};
  if (queue_.find(claim.id) != nullptr) return busy;
  // A latch lets everybody through; of permits, those in line come first.
  if ((kind_ == spi::kind::latch || queue_.empty()) && passes(claim.permits)) {
    take(claim.id, claim.permits);
    return spi::granted{};
  }
  if (request.queue) queue_.push(make_waiter(request, client, now));
  return busy;
}

std::optional<spi::wake> count_state::watch(const spi::owner_id& id, spi::completion<spi::wake>& done, wakeups& woken) {
  if (std::erase_if(unclaimed_, [&](const waiter& w) { return w.id == id; }) != 0) return spi::wake(spi::granted{});
  waiter* queued = queue_.find(id);
  if (queued == nullptr) return spi::wake(spi::look_again{});
  set_watch(*queued, std::move(done), woken);
  return std::nullopt;
}

bool count_state::leave(const spi::owner_id& id, wakeups& woken) {
  if (auto queued = queue_.remove(id)) {
    woken.add(std::move(queued->watch), spi::look_again{});
  } else if (remembered* taken = recall(id); taken != nullptr && taken->taken != 0) {
    // Whoever leaves after a grant did not want it any more (a wait that was cancelled at that moment).
    value_ += taken->taken;
    *taken = {};
    std::erase_if(unclaimed_, [&](const waiter& w) { return w.id == id; });
  } else {
    return std::erase_if(unclaimed_, [&](const waiter& w) { return w.id == id; }) != 0;
  }
  pass_next(woken);
  return true;
}

result<spi::count_reply> count_state::apply(const spi::count_request& request, wakeups& woken) {
  if (is_step(request.what)) {
    if (const remembered* before = recall(request.id)) return before->reply;
  }
  auto reply = step(request);
  if (!reply || !is_step(request.what)) return reply;
  remember({request.id, 0, *reply});
  pass_next(woken);
  return reply;
}

void count_state::forget_waiters_of(const session& client, wakeups& woken) {
  queue_.remove_all_of(client);
  for (const waiter& w : unclaimed_) {
    if (w.client.get() == &client && kind_ == spi::kind::semaphore) value_ += w.permits;
  }
  std::erase_if(unclaimed_, [&](const waiter& w) { return w.client.get() == &client; });
  pass_next(woken);
}

entry count_state::describe(const std::string& name, spi::time_point now) const {
  entry shown{name, to_string(kind_), {}, {}};
  for (const waiter& w : queue_) {
    shown.waiters.push_back(describe_participant(w.id, *w.client, w.since, now));
    shown.waiters.back().permits = w.permits;
  }
  return shown;
}

bool count_state::passes(std::uint32_t permits) const noexcept {
  return kind_ == spi::kind::latch ? value_ == 0 : value_ >= std::int64_t{permits};
}

void count_state::take(const spi::owner_id& id, std::uint32_t permits) {
  if (kind_ == spi::kind::latch) return;
  value_ -= permits;
  remember({id, permits, {}});
}

void count_state::pass_next(wakeups& woken) {
  while (!queue_.empty() && passes(queue_.front().permits)) {
    waiter next = queue_.pop();
    take(next.id, next.permits);
    if (next.watch) {
      woken.add(std::move(next.watch), spi::granted{});
    } else {
      unclaimed_.push_back(std::move(next));
    }
  }
}

result<spi::count_reply> count_state::step(const spi::count_request& request) {
  using op = spi::count_request::op;
  spi::count_reply reply;
  switch (request.what) {
    case op::get:
      break;
    case op::set_if_unset:
      reply.done = kind_ == spi::kind::semaphore ? !set_ : value_ == 0;
      if (reply.done) value_ = request.amount;
      set_ = true;
      break;
    case op::add:
      if (__builtin_add_overflow(value_, request.amount, &value_)) {
        return {errc::invalid_argument, "'" + request.name + "': the number of permits would not fit in 64 bits"};
      }
      set_ = true;
      break;
    case op::subtract:
      value_ = std::max<std::int64_t>(0, value_ - request.amount);
      break;
    case op::drain:
      reply.value = std::max<std::int64_t>(0, value_);
      value_ -= reply.value;
      return reply;
  }
  reply.value = value_;
  return reply;
}

count_state::remembered* count_state::recall(const spi::owner_id& id) noexcept {
  if (id == spi::owner_id{}) return nullptr;  // what leave() wipes out
  const auto found = std::find_if(recent_.begin(), recent_.end(), [&](const remembered& r) { return r.id == id; });
  return found == recent_.end() ? nullptr : &*found;
}

void count_state::remember(remembered what) {
  if (recent_.size() < remembered_steps) {
    recent_.push_back(what);
    return;
  }
  recent_[oldest_] = what;
  oldest_ = (oldest_ + 1) % remembered_steps;
}

}  // namespace holdfast::memory
