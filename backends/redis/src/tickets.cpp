#include "tickets.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redis {

void tickets::open(const std::string& owner, const std::string& channel, spi::kind kind) {
  const std::lock_guard lock(mutex_);
  auto [at, fresh] = all_.try_emplace(owner);
  if (!fresh) return;
  at->second.number = ++last_;
  if (const auto before = inside_.find(owner); before != inside_.end()) at->second.had = before->second;
  at->second.channel = channel;
  at->second.lasts = kind != spi::kind::semaphore && kind != spi::kind::latch;
  channels_[channel].line.emplace(last_, owner);
}

void tickets::erase(place at) {
  const auto heard = channels_.find(at->second.channel);
  heard->second.line.erase(at->second.number);
  if (at->second.needs_channel) --heard->second.needs;
  if (heard->second.line.empty()) channels_.erase(heard);
  all_.erase(at);
}

void tickets::move_in(place at, fencing_token token) {
  if (at->second.lasts) inside_.insert_or_assign(at->first, std::max(token, at->second.had));
  erase(at);
}

void tickets::settle(const std::string& owner, fencing_token token) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(owner);
    if (found == all_.end()) return;
    watch = std::move(found->second.watch);
    move_in(found, token);
  }
  if (watch) watch(spi::wake(spi::look_again{}));
}

void tickets::close(const std::string& owner) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    inside_.erase(owner);
    const auto found = all_.find(owner);
    if (found == all_.end()) return;
    watch = std::move(found->second.watch);
    erase(found);
  }
  if (watch) watch(spi::wake(spi::look_again{}));
}

void tickets::watch(const std::string& owner, spi::completion<spi::wake> done) {
  std::optional<result<spi::wake>> now;
  spi::completion<spi::wake> before;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(owner);
    if (found == all_.end()) {
      now = spi::wake(spi::look_again{});
    } else if (found->second.woken) {
      now = *found->second.woken;
      const auto woken = *std::exchange(found->second.woken, std::nullopt);
      if (const auto* grant = std::get_if<spi::granted>(&woken)) move_in(found, grant->first_token);
    } else if (found->second.refused) {
      now = *found->second.refused;
    } else {
      before = std::exchange(found->second.watch, std::move(done));
    }
  }
  if (now) done(std::move(*now));
  if (before) before(spi::wake(spi::look_again{}));
}

bool tickets::wake(const std::string& owner, spi::wake why) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(owner);
    if (found == all_.end()) return inside_.contains(owner);
    const auto* grant = std::get_if<spi::granted>(&why);
    if (grant != nullptr && found->second.had != fencing_token() && grant->first_token <= found->second.had)
      return true;
    watch = std::move(found->second.watch);
    // A grant is not taken back by a doubt that comes after it.
    const bool keeps_grant = found->second.woken && std::holds_alternative<spi::granted>(*found->second.woken);
    if (!watch && !keeps_grant) found->second.woken = why;
    if (watch && grant != nullptr) move_in(found, grant->first_token);
  }
  if (watch) watch(why);
  return true;
}

void tickets::fail(const std::string& owner, const failure& why) {
  spi::completion<spi::wake> watch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(owner);
    if (found == all_.end()) return;
    found->second.refused = why;
    watch = std::move(found->second.watch);
  }
  if (watch) watch(why);
}

std::optional<failure> tickets::refusal(const std::string& owner) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(owner);
  return found == all_.end() ? std::nullopt : found->second.refused;
}

void tickets::wake_all() {
  std::vector<std::string> owners;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [owner, t] : all_) owners.push_back(owner);
  }
  for (const auto& owner : owners) wake(owner, spi::look_again{});
}

void tickets::wake_first_on(std::string_view channel) {
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(channel);
    if (found == channels_.end()) return;
    first = found->second.line.begin()->second;
  }
  wake(first, spi::look_again{});
}

bool tickets::need(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(owner);
  if (found == all_.end() || std::exchange(found->second.needs_channel, true)) return false;
  ++channels_.find(found->second.channel)->second.needs;
  return true;
}

bool tickets::needed(std::string_view channel) const {
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(channel);
  return found != channels_.end() && found->second.needs != 0;
}

}  // namespace holdfast::redis
