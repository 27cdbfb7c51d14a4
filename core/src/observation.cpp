#include "observation.hpp"

#include "blocking.hpp"

#include <thread>

namespace holdfast::detail {

subscription_state::subscription_state(const std::shared_ptr<engine>& e, std::string prefix,
                                       std::function<void(const change&)> callback)
    : engine_(e),
      prefix_(std::move(prefix)),
      callback_(std::move(callback)),
      outlet_(e->outlet()),
      events_(std::make_shared<strand>(e->callbacks())) {}

void subscription_state::begin() {
  auto e = engine_.lock();
  if (!e) return;
  auto stop = e->store().observe(prefix_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->changed();
  });
  {
    std::lock_guard lock(mutex_);
    stop_ = std::move(stop);
  }
  changed();
}

void subscription_state::changed() {
  // Changes that come while a look is owed are seen by it.
  if (look_owed_.exchange(true)) return;
  events_->post([self = shared_from_this()] { self->look(); });
}

void subscription_state::look() {
  look_owed_ = false;
  auto e = engine_.lock();
  if (!e) return;
  auto found = wait_for<std::vector<entry>>([&](auto done) { e->store().inspect(prefix_, std::move(done)); });
  if (!found) {
    e->log(log_level::warning, "watch: " + found.error().detail);
    // What changed is still untold: look again, when the store may answer.
    e->time().at(e->now() + std::chrono::seconds(1), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->changed();
    });
    return;
  }
  picture now;
  for (auto& lock : *found) {
    for (auto& who : lock.holders) now.emplace(key(lock.name, who.owner), seen{lock.kind, who, true});
    for (auto& who : lock.waiters) now.emplace(key(lock.name, who.owner), seen{lock.kind, who, false});
  }
  const auto before = std::exchange(picture_, now);
  tell(before, now);
}

void subscription_state::tell(const picture& before, const picture& after) {
  for (const auto& [k, s] : before)
    if (!after.contains(k)) say(s.holds ? change::kind::released : change::kind::left, k, s);
  for (const auto& [k, s] : after) {
    const auto was = before.find(k);
    if (was == before.end() || was->second.holds != s.holds)
      say(s.holds ? change::kind::granted : change::kind::waiting, k, s);
  }
}

void subscription_state::say(change::kind what, const key& k, const seen& s) {
  {
    std::lock_guard lock(mutex_);
    if (cancelled_) return;
    calling_ = std::this_thread::get_id();
  }
  struct done {
    subscription_state* self;
    ~done() {
      std::lock_guard lock(self->mutex_);
      self->calling_.reset();
      self->idle_.notify_all();
    }
  } after{this};
  try {
    outlet_->say([&] { callback_({what, k.first, s.kind, s.who}); });
  } catch (const std::exception& e) {
    if (auto alive = engine_.lock()) alive->log(log_level::error, std::string("a watch callback threw: ") + e.what());
  }
}

void subscription_state::cancel() {
  std::function<void()> stop;
  {
    std::unique_lock lock(mutex_);
    cancelled_ = true;
    stop = std::exchange(stop_, nullptr);
    idle_.wait(lock, [&] { return !calling_ || *calling_ == std::this_thread::get_id(); });
  }
  const auto e = engine_.lock();
  if (stop && e && e->in_own_process()) stop();
}

}  // namespace holdfast::detail
