#include "ledger.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::etcd {

ledger::page ledger::open(const spi::claim& claim) {
  const std::lock_guard lock(mutex_);
  auto& found = open_[claim.id];
  if (!found) found = std::make_shared<ticket>(claim);
  return found;
}

ledger::page ledger::find(const spi::owner_id& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : found->second;
}

void ledger::close(const page& t) {
  spi::completion<spi::wake> waker;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(t->claim.id);
    if (found == open_.end() || found->second != t) return;
    open_.erase(found);
    keys_.erase(t->key);
    waker = std::move(t->waker);
  }
  if (waker) waker(spi::wake(spi::look_again{}));
}

bool ledger::empty() const {
  const std::lock_guard lock(mutex_);
  return open_.empty();
}

void ledger::choose_key(const page& t, const std::function<std::string(unsigned)>& make) {
  const std::lock_guard lock(mutex_);
  keys_.erase(t->key);
  unsigned which = 0;
  while (!keys_.insert(make(which)).second) ++which;
  t->key = make(which);
}

void ledger::place(const page& t, std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  t->revision = revision;
}

void ledger::place_writer(const page& t, const std::string& key, std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  if (t->second_key != key) t->second_key = key;
  t->writer_revision = revision;
}

ledger::position ledger::position_of(const page& t) const {
  const std::lock_guard lock(mutex_);
  return {t->key, t->revision, t->second_key, t->writer_revision,
          std::max({t->seen_at, t->revision, t->writer_revision.load()})};
}

void ledger::assign(const page& t, std::int64_t lease, ticket::tenure how) {
  const std::lock_guard lock(mutex_);
  t->lease = lease;
  t->lease_is = how;
}

std::string ledger::queue(const page& t, std::string awaited, std::int64_t seen_at) {
  const std::lock_guard lock(mutex_);
  t->seen_at = seen_at;
  t->now = ticket::state::queued;
  return std::exchange(t->awaited, std::move(awaited));
}

std::string ledger::hold(const page& t, std::int64_t seen_at) {
  const std::lock_guard lock(mutex_);
  t->seen_at = seen_at;
  t->now = ticket::state::held;
  return std::exchange(t->awaited, {});
}

ticket::state ledger::state_of(const page& t) const {
  const std::lock_guard lock(mutex_);
  return t->now;
}

std::string ledger::awaited_by(const page& t) const {
  const std::lock_guard lock(mutex_);
  return t->awaited;
}

void ledger::watch(const page& t, spi::completion<spi::wake> waker) {
  {
    const std::lock_guard lock(mutex_);
    const bool in_line = t->now == ticket::state::queued && open_.contains(t->claim.id);
    if (in_line && !t->woken) {
      t->waker = std::move(waker);
      return;
    }
  }
  waker(spi::wake(spi::look_again{}));
}

bool ledger::look(const page& t) {
  const std::lock_guard lock(mutex_);
  t->woken = false;
  return std::exchange(t->ended, false);
}

void ledger::wake_by_end(const page& t) {
  {
    const std::lock_guard lock(mutex_);
    t->ended = true;
  }
  wake(t);
}

void ledger::wake(const page& t) {
  spi::completion<spi::wake> waker;
  {
    const std::lock_guard lock(mutex_);
    t->woken = true;
    waker = std::move(t->waker);
  }
  if (waker) waker(spi::wake(spi::look_again{}));
}

void ledger::wake_all() {
  for (const auto& t : all()) wake(t);
}

std::vector<ledger::page> ledger::with_lease(std::int64_t lease) const {
  const std::lock_guard lock(mutex_);
  std::vector<page> found;
  for (const auto& [id, t] : open_)
    if (t->lease == lease) found.push_back(t);
  return found;
}

std::vector<ledger::page> ledger::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<page> found;
  for (const auto& [id, t] : open_) found.push_back(t);
  return found;
}

}  // namespace holdfast::etcd
