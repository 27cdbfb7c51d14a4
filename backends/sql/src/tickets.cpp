#include "tickets.hpp"

#include <utility>

namespace holdfast::sql {

namespace {

// Nothing that was said is on its way for so long.
constexpr std::chrono::minutes remembered{10};

}  // namespace

void tickets::open(const spi::owner_id& id, grant what) {
  const std::lock_guard lock(mutex_);
  all_.try_emplace(id).first->second.what = what;
}

void tickets::move_in(place found) {
  inside_.insert(found->first);
  if (found->second.what == grant::passes) {
    const auto now = std::chrono::steady_clock::now();
    passed_.emplace_back(now, found->first);
    for (; now - passed_.front().first > remembered; passed_.pop_front()) inside_.erase(passed_.front().second);
  }
  all_.erase(found);
}

void tickets::settle(const spi::owner_id& id) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    watch = std::move(found->second.watch);
    move_in(found);
  }
  if (watch) watch(spi::wake(spi::look_again{}));
}

void tickets::close(const spi::owner_id& id) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    inside_.erase(id);
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    watch = std::move(found->second.watch);
    all_.erase(found);
  }
  if (watch) watch(spi::wake(spi::look_again{}));
}

void tickets::watch(const spi::owner_id& id, spi::completion<spi::wake> done) {
  std::optional<result<spi::wake>> now;
  spi::completion<spi::wake> before;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(id);
    if (found == all_.end()) {
      now = spi::wake(spi::look_again{});
    } else if (found->second.woken) {
      now = *std::exchange(found->second.woken, std::nullopt);
      if (std::holds_alternative<spi::granted>(**now)) move_in(found);
    } else if (found->second.refused) {
      now = *found->second.refused;
    } else {
      before = std::exchange(found->second.watch, std::move(done));
    }
  }
  if (now) done(std::move(*now));
  if (before) before(spi::wake(spi::look_again{}));
}

bool tickets::wake(const spi::owner_id& id, spi::wake why) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(id);
    if (found == all_.end()) return inside_.contains(id);
    const bool granted = std::holds_alternative<spi::granted>(why);
    watch = std::move(found->second.watch);
    // A grant is not taken back by a doubt that comes after it.
    const bool keeps_grant = found->second.woken && std::holds_alternative<spi::granted>(*found->second.woken);
    if (!watch && !keeps_grant) found->second.woken = why;
    if (watch && granted) move_in(found);
  }
  if (watch) watch(why);
  return true;
}

void tickets::fail(const spi::owner_id& id, const failure& why) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    found->second.refused = why;
    watch = std::move(found->second.watch);
  }
  if (watch) watch(why);
}

std::optional<failure> tickets::refusal(const spi::owner_id& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(id);
  return found == all_.end() ? std::nullopt : found->second.refused;
}

void tickets::wake_all() {
  std::vector<spi::owner_id> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, t] : all_) ids.push_back(id);
  }
  for (const auto& id : ids) wake(id, spi::look_again{});
}

}  // namespace holdfast::sql
