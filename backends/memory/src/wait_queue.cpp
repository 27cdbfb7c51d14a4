#include "wait_queue.hpp"

namespace holdfast::memory {

waiter make_waiter(const spi::entry_request& request, std::shared_ptr<session> client, spi::time_point now) {
  const spi::claim& claim = request.claim;
  waiter who;
  who.id = claim.id;
  who.access = claim.access;
  who.permits = claim.permits;
  who.tokens = request.tokens;
  who.ttl = claim.ttl;
  who.since = now;
  who.client = std::move(client);
  return who;
}

void set_watch(waiter& queued, spi::completion<spi::wake> watch, wakeups& woken) {
  woken.add(std::exchange(queued.watch, std::move(watch)), spi::look_again{});
}

waiter* wait_queue::find(const spi::owner_id& id) noexcept {
  if (line_.empty()) return nullptr;
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &*found->second;
}

void wait_queue::push(waiter who) {
  const spi::owner_id id = who.id;
  line_.push_back(std::move(who));
  index_.emplace(id, std::prev(line_.end()));
}

waiter wait_queue::pop() {
  waiter first = std::move(line_.front());
  index_.erase(first.id);
  line_.pop_front();
  return first;
}

std::optional<waiter> wait_queue::remove(const spi::owner_id& id) {
  const auto found = index_.find(id);
  if (found == index_.end()) return std::nullopt;
  waiter gone = std::move(*found->second);
  line_.erase(found->second);
  index_.erase(found);
  return gone;
}

bool wait_queue::remove_all_of(const session& client) {
  return line_.remove_if([&](const waiter& who) {
    if (who.client.get() != &client) return false;
    index_.erase(who.id);
    return true;
  }) != 0;
}

}  // namespace holdfast::memory
