#include "lookout.hpp"

#include "keys.hpp"

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::nanoseconds stands_by = 3s;
constexpr std::chrono::nanoseconds after_refusal = 2s;

}  // namespace

lookout::lookout(std::shared_ptr<watches> through, spi::runtime& engine, teller tell)
    : watches_(std::move(through)), engine_(engine), tell_(std::move(tell)) {}

watches::id lookout::open(const std::string& key, scope which) {
  const std::string end = which == scope::below_deleted ? everything_below(key).end : std::string();
  const auto wanted = which == scope::key_changed ? watches::wanted::everything : watches::wanted::deletions;
  const std::weak_ptr<lookout> weak = weak_from_this();
  return watches_->open(key, end, wanted,
                        {[weak, key](std::int64_t revision) {
                           if (auto self = weak.lock()) self->began(key, revision);
                         },
                         [weak, key](const mvccpb::Event& what) {
                           if (auto self = weak.lock()) self->seen(key, what);
                         },
                         [weak, key](const failure& why) {
                           if (auto self = weak.lock()) self->refused(key, why);
                         }});
}

bool lookout::listen(const std::string& key, scope which, std::int64_t since, const spi::owner_id& who) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = entries_.try_emplace(key);
  entry& e = found->second;
  e.listeners[who] = since;
  e.which = which;
  // Its first word needs this lock, and so comes after.
  if (fresh) e.watch = open(key, which);
  return e.gone > since || e.began > since;
}

void lookout::ignore(const std::string& key, const spi::owner_id& who, afterwards then) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.listeners.erase(who) == 0 || !found->second.listeners.empty()) return;
  if (then == afterwards::close) {
    watches_->close(found->second.watch);
    entries_.erase(found);
    return;
  }
  found->second.idle_since = engine_.now();
  if (tidying_) return;
  tidying_ = true;
  engine_.at(engine_.now() + stands_by, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->tidy_up();
  });
}

void lookout::tidy_up() {
  const std::lock_guard lock(mutex_);
  bool more = false;
  const auto now = engine_.now();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const entry& e = at->second;
    const bool idle = e.listeners.empty();
    if (idle && now - e.idle_since >= stands_by) {
      watches_->close(e.watch);
      at = entries_.erase(at);
      continue;
    }
    more = more || idle;
    ++at;
  }
  tidying_ = more;
  if (!more) return;
  engine_.at(now + stands_by, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->tidy_up();
  });
}

void lookout::began(const std::string& key, std::int64_t revision) {
  std::vector<spi::owner_id> told;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    found->second.began = revision;
    for (const auto& [who, since] : found->second.listeners)
      if (since < revision) told.push_back(who);
  }
  for (const auto& who : told) tell_(key, who, news::doubt);
}

void lookout::seen(const std::string& key, const mvccpb::Event& what) {
  std::vector<spi::owner_id> told;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    found->second.gone = what.kv().mod_revision();
    for (const auto& [who, since] : found->second.listeners)
      if (since < found->second.gone) told.push_back(who);
  }
  for (const auto& who : told) tell_(key, who, news::gone);
}

/// Who listens is left with looking from time to time, until the server thinks better of it.
void lookout::refused(const std::string& key, const failure& why) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    found->second.watch = 0;
  }
  engine_.log(log_level::warning, "watching '" + key + "': " + why.detail);
  engine_.at(engine_.now() + after_refusal, [weak = weak_from_this(), key] {
    if (auto self = weak.lock()) self->try_again(key);
  });
}

/// When it has begun, those who listen are told to look.
void lookout::try_again(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.watch == 0) found->second.watch = open(key, found->second.which);
}

}  // namespace holdfast::etcd
