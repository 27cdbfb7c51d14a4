#include "peers.hpp"

#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <vector>

namespace holdfast::sqlite {

namespace {

// Enough for the neighbours of a busy queue; each costs a descriptor.
constexpr std::size_t most_kept = 64;

}  // namespace

std::shared_ptr<peer> peer::find(session_id id, const process& who, const process& self) {
  const bool known = who.start != 0 && self.start != 0 && who.pid_namespace == self.pid_namespace;
  if (!known) return std::make_shared<peer>(id, descriptor());
  descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)));
  if (!pidfd && errno == ESRCH) return nullptr;
  // The descriptor first, then the start time: if that is right now, it was right when the descriptor was made.
  const auto start = start_time(who.pid);
  if (start && *start != who.start) return nullptr;
  // Whosever descriptor it is: if that one is dead, so is who had the number before. Also the reason why the start time
  // of one that was just reaped cannot be read.
  auto found = std::make_shared<peer>(id, std::move(pidfd));
  if (found->dead()) return nullptr;
  // Not readable though it lives (/proc mounted with hidepid): whose descriptor it is cannot be told.
  if (!start) return std::make_shared<peer>(id, descriptor());
  return found;
}

peer::~peer() {
  if (watched_by_ != nullptr) watched_by_->forget(pidfd_.get());
}

bool peer::dead() const noexcept {
  if (!pidfd_) return false;
  // Readable when the last thread is gone, also while nobody has reaped the zombie.
  pollfd look{pidfd_.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) == 1;
}

peers::peers(spi::runtime& engine, std::function<void(session_id)> died)
    : engine_(engine), died_(std::move(died)), self_(process::self()) {}

peers::~peers() = default;

std::shared_ptr<peer> peers::known(session_id id) const {
  std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : found->second;
}

std::shared_ptr<peer> peers::meet(session_id id, const process& who) {
  auto met = peer::find(id, who, self_);
  // One that cannot be watched is looked for again each time: perhaps only descriptors were short.
  if (!met || !met->watchable()) return met;
  std::vector<std::shared_ptr<peer>> dropped;  // destroyed outside the lock: they wait for a callback that may want it
  std::lock_guard lock(mutex_);
  if (known_.size() >= most_kept) drop_unused(dropped);
  return known_.try_emplace(id, met).first->second;
}

void peers::drop_unused(std::vector<std::shared_ptr<peer>>& dropped) {
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second.use_count() > 1) {
      ++it;
      continue;
    }
    dropped.push_back(std::move(it->second));
    it = known_.erase(it);
  }
}

void peers::forget(session_id id) {
  std::shared_ptr<peer> dropped;
  std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  dropped = std::move(found->second);
  known_.erase(found);
}

void peers::watch(const std::shared_ptr<peer>& who) {
  {
    std::lock_guard lock(mutex_);
    if (!who->watchable() || who->watched_by_ != nullptr) return;
    who->watched_by_ = &engine_;
  }
  engine_.on_readable(who->descriptor_to_poll(), [this, weak = std::weak_ptr(who)] {
    if (const auto dead = weak.lock()) on_death(*dead);
  });
}

void peers::on_death(peer& dead) {
  // The descriptor stays readable: without this the reactor would spin for as long as somebody keeps the peer.
  engine_.forget(dead.descriptor_to_poll());
  {
    std::lock_guard lock(mutex_);
    dead.watched_by_ = nullptr;  // only now: until then it cannot be watched once more
  }
  forget(dead.id());
  died_(dead.id());
}

}  // namespace holdfast::sqlite
