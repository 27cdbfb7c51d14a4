#include "store.hpp"

#include <algorithm>

namespace holdfast::memory {

std::shared_ptr<store> store::named(const std::string& key) {
  // Never destroyed: clients in other static objects may still release at exit.
  static auto& mutex = *new std::mutex;
  static auto& stores = *new std::unordered_map<std::string, std::shared_ptr<store>>;
  std::lock_guard lock(mutex);
  auto& found = stores[key];
  if (!found) found = std::make_shared<store>();
  return found;
}

store::locked_name store::make(const std::string& name, spi::time_point now, wakeups& woken) {
  shard& s = shard_of(name);
  std::unique_lock lock(s.mutex);
  auto found = s.names.find(name);
  if (found == s.names.end()) {
    if (s.names.size() >= s.room) throw_out_idle(s, now, woken);
    found = s.names.emplace(name, s.last_forgotten_token).first;
  }
  return {std::move(lock), found->second};
}

std::optional<store::locked_name> store::find(const std::string& name) {
  shard& s = shard_of(name);
  std::unique_lock lock(s.mutex);
  const auto found = s.names.find(name);
  if (found == s.names.end()) return std::nullopt;
  return locked_name(std::move(lock), found->second);
}

void store::forget_waiters_of(const session& client, spi::time_point now, wakeups& woken) {
  for (shard& s : shards_) {
    std::lock_guard lock(s.mutex);
    for (auto& [name, state] : s.names) {
      state.lock.forget_waiters_of(client, now, woken);
      if (state.count) state.count->forget_waiters_of(client, woken);
    }
  }
}

std::vector<entry> store::inspect(const std::string& prefix, spi::time_point now, wakeups& woken) {
  std::vector<entry> found;
  for (shard& s : shards_) {
    std::lock_guard lock(s.mutex);
    for (auto& [name, state] : s.names) {
      if (!name.starts_with(prefix)) continue;
      state.lock.sweep(now, woken);
      if (state.lock.in_use()) found.push_back(state.lock.describe(name, now));
      if (state.count && state.count->waited_for()) found.push_back(state.count->describe(name, now));
    }
  }
  std::sort(found.begin(), found.end(), [](const entry& a, const entry& b) { return a.name < b.name; });
  return found;
}

spi::cell_value store::load_cell(const std::string& name) {
  std::lock_guard lock(cells_mutex_);
  const auto found = cells_.find(name);
  return found == cells_.end() ? spi::cell_value{} : found->second.now;
}

bool store::exchange_cell(const std::string& name, std::uint64_t expected, std::string value, const spi::owner_id& id) {
  std::lock_guard lock(cells_mutex_);
  stored_cell& cell = cells_[name];
  if (cell.now.version != expected) return cell.now.version == expected + 1 && cell.writer == id;
  cell = {{std::move(value), expected + 1}, id};
  return true;
}

fencing_token store::admit(const std::string& name, fencing_token token) {
  std::lock_guard lock(cells_mutex_);
  if (token == fencing_token{}) {
    const auto found = fences_.find(name);
    return found == fences_.end() ? token : found->second;
  }
  fencing_token& newest = fences_[name];
  newest = std::max(newest, token);
  return newest;
}

std::function<void()> store::observe(const std::string& prefix, std::function<void()> changed) {
  std::shared_ptr<observer> one(new observer{prefix, std::move(changed), {}, false});
  {
    std::lock_guard lock(observers_mutex_);
    observers_.push_back(one);
    observed_ = observers_.size();
  }
  return [this, one] {
    {
      std::lock_guard lock(observers_mutex_);
      std::erase(observers_, one);
      observed_ = observers_.size();
    }
    std::lock_guard running(one->mutex);
    one->ended = true;
  };
}

store::shard& store::shard_of(const std::string& name) noexcept {
  // The high bits: the map inside uses the low ones.
  return shards_[std::hash<std::string>{}(name) >> 60];
}

void store::throw_out_idle(shard& s, spi::time_point now, wakeups& woken) {
  for (auto& [name, state] : s.names) state.lock.sweep(now, woken);
  std::erase_if(s.names, [&](const auto& each) {
    const name_state& state = each.second;
    if (state.lock.in_use() || (state.count && state.count->in_use())) return false;
    s.last_forgotten_token = std::max(s.last_forgotten_token, state.lock.last_token());
    return true;
  });
  // Twice what is in use: throwing out costs a walk over all, which this many new names pay for.
  s.room = std::max<std::size_t>(1024, 2 * s.names.size());
}

void store::tell_observers(const std::string& name) {
  std::vector<std::shared_ptr<observer>> interested;
  {
    std::lock_guard lock(observers_mutex_);
    for (const auto& one : observers_) {
      if (name.starts_with(one->prefix)) interested.push_back(one);
    }
  }
  for (const auto& one : interested) {
    std::lock_guard running(one->mutex);
    if (!one->ended) one->changed();
  }
}

}  // namespace holdfast::memory
