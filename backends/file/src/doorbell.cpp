#include "doorbell.hpp"

#include "file_name.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace holdfast::file {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::chrono::nanoseconds, 4> ladder{1ms, 5ms, 20ms, 100ms};

// How long a ring that never came may go unnoticed: inotify knows nothing of other machines.
constexpr std::chrono::nanoseconds local_look = 5s, remote_look = 500ms, deaf_look = 20ms;

constexpr std::uint64_t no_ticket = std::numeric_limits<std::uint64_t>::max();

// Most locks are held for less: those never pay for listening to their removal.
constexpr auto soon = 50ms;

constexpr std::uint32_t heard = IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW;

template <class Places>
auto find_place(Places& places, const spi::owner_id& id) {
  return std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.id == id; });
}

}  // namespace

doorbell::doorbell(spi::runtime& engine, std::shared_ptr<const directory> where)
    : engine_(engine), where_(std::move(where)) {}

doorbell::~doorbell() {
  if (inotify_) engine_.forget(inotify_.get());
}

void doorbell::listen_for_removals_soon(removal removed) {
  // Where inotify does not hear of other machines, the next renewal finds it.
  if (removals_due_.load() || removals_due_.exchange(true) || where_->is_remote()) return;
  {
    std::lock_guard lock(removal_mutex_);
    removed_ = std::move(removed);
  }
  engine_.at(engine_.now() + soon, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->start_removals();
  });
}

void doorbell::start_removals() {
  {
    std::lock_guard lock(mutex_);
    if (!start()) return;  // the next renewal finds it
    directory_wd_ = ::inotify_add_watch(inotify_.get(), where_->path().c_str(), IN_DELETE | IN_MOVED_TO | IN_ONLYDIR);
  }
  tell_removed({""});
}

void doorbell::tell_removed(const std::vector<std::string>& file_names) {
  std::lock_guard lock(removal_mutex_);
  if (!removed_) return;
  for (const std::string& file_name : file_names) removed_(file_name);
}

void doorbell::end_removals() noexcept {
  std::lock_guard lock(removal_mutex_);
  removed_ = nullptr;
}

void doorbell::join(const std::string& name, const spi::owner_id& id) {
  std::lock_guard lock(mutex_);
  line& l = lines_.try_emplace(name, line{-1, 0, ladder.size(), {}}).first->second;
  if (l.wd < 0) listen(name, l);
  if (find_place(l.places, id) == l.places.end()) l.places.push_back({id, no_ticket, l.rings, {}, false});
}

doorbell::watches doorbell::move_to_new_file(const std::string& name) {
  watches woken;
  std::lock_guard lock(mutex_);
  line* l = find(name);
  if (l == nullptr || l->wd < 0) return woken;
  const int before = std::exchange(l->wd, -1);
  listen(name, *l);
  if (l->wd == before) return woken;
  // The kernel takes this watch away by itself only when nobody has the old file open any more.
  names_.erase(before);
  ::inotify_rm_watch(inotify_.get(), before);
  for (place& each : l->places) {
    each.ticket = no_ticket;
    each.moved = !each.watch;
    if (each.watch) woken.push_back(std::move(each.watch));
  }
  return woken;
}

void doorbell::end(watches& woken) {
  for (auto& watch : woken) watch(spi::wake(spi::look_again{}));
}

void doorbell::part(const std::string& name, const spi::owner_id& id, parting how) {
  watches woken;
  {
    std::lock_guard lock(mutex_);
    line* l = find(name);
    if (l == nullptr) return;
    const auto gone = find_place(l->places, id);
    if (gone == l->places.end()) return;
    if (gone->watch) woken.push_back(std::move(gone->watch));
    l->places.erase(gone);
    if (l->places.empty()) {
      close(name, *l);
    } else if (how == parting::made_way) {
      wake_first_if_it_rang(*l, woken);  // what rang while it was not the first may have been for it
    }
  }
  end(woken);
}

void doorbell::close(const std::string& name, line& l) {
  if (l.wd >= 0) {
    ::inotify_rm_watch(inotify_.get(), l.wd);
    names_.erase(l.wd);
  }
  lines_.erase(name);
}

std::uint64_t doorbell::rings(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = lines_.find(name);
  return found == lines_.end() ? 0 : found->second.rings;
}

void doorbell::tried_in_vain(const std::string& name, const spi::owner_id& id, std::uint64_t ticket,
                             std::uint64_t rings_before) {
  watches woken;
  {
    std::lock_guard lock(mutex_);
    line* l = find(name);
    if (l == nullptr) return;
    const auto who = find_place(l->places, id);
    if (who == l->places.end()) return;
    who->seen = rings_before;
    if (std::exchange(who->ticket, ticket) != ticket) {
      // Threads may join in one order and draw in another. Only the lowest ticket can come in: to wake any other would
      // be to wake nobody.
      place moved = std::move(*who);
      l->places.erase(who);
      const auto behind = std::upper_bound(l->places.begin(), l->places.end(), ticket,
                                           [](std::uint64_t t, const place& p) { return t < p.ticket; });
      l->places.insert(behind, std::move(moved));
      wake_first_if_it_rang(*l, woken);
    }
    if (l->places.front().id == id && l->looks_after_close != ladder.size()) {
      engine_.at(engine_.now() + ladder[l->looks_after_close++], [weak = weak_from_this(), name] {
        if (const auto self = weak.lock()) self->ring_again(name);
      });
    }
  }
  end(woken);
}

void doorbell::wake_first_if_it_rang(line& l, watches& woken) {
  place& first = l.places.front();
  if (!first.watch || first.seen == l.rings) return;
  first.seen = l.rings;
  woken.push_back(std::move(first.watch));
}

void doorbell::watch(const std::string& name, const spi::owner_id& id, spi::completion<spi::wake> done) {
  watches woken;
  {
    std::lock_guard lock(mutex_);
    line* l = find(name);
    const auto who = l == nullptr ? std::vector<place>::iterator() : find_place(l->places, id);
    if (l == nullptr || who == l->places.end()) {
      woken.push_back(std::move(done));  // not in line: nothing to wait for
    } else if (std::exchange(who->moved, false) || (who == l->places.begin() && who->seen != l->rings)) {
      who->seen = l->rings;
      woken.push_back(std::move(done));
    } else {
      std::swap(who->watch, done);
      if (done) woken.push_back(std::move(done));
    }
  }
  end(woken);
}

spi::time_point doorbell::look_again() const {
  std::lock_guard lock(mutex_);
  return engine_.now() + (deaf_ ? deaf_look : where_->is_remote() ? remote_look : local_look);
}

bool doorbell::start() {
  if (inotify_) return true;
  inotify_ = descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_) return false;
  engine_.on_readable(inotify_.get(), [this] { on_events(); });
  return true;
}

void doorbell::listen(const std::string& name, line& l) {
  const bool was_deaf = deaf_;
  deaf_ = !start();
  int error = errno;
  if (!deaf_) {
    l.wd = ::inotify_add_watch(inotify_.get(), (where_->path() + "/" + to_file_name(name)).c_str(), heard);
    error = errno;
    // A file that is not there was removed a moment ago: the next attempt makes it again and listens again.
    if (l.wd < 0 && error != ENOENT) deaf_ = true;
    if (l.wd >= 0) names_[l.wd] = name;
  }
  if (deaf_ && !was_deaf) {
    engine_.log(log_level::warning, std::string("file: no inotify (") + ::strerror(error) +
                                        "); waiting claims look every 20 ms. See fs.inotify.max_user_instances");
  }
}

void doorbell::ring(line& l, watches& woken) {
  ++l.rings;
  if (!l.places.empty()) wake_first_if_it_rang(l, woken);
}

doorbell::line* doorbell::find(const std::string& name) {
  const auto found = lines_.find(name);
  return found == lines_.end() ? nullptr : &found->second;
}

void doorbell::on_events() {
  alignas(inotify_event) char buffer[16 * 1024];
  watches woken;
  std::vector<std::string> removed;
  {
    std::lock_guard lock(mutex_);
    for (;;) {
      const auto got = ::read(inotify_.get(), buffer, sizeof buffer);
      if (got <= 0) break;
      read_events(buffer, buffer + got, woken, removed);
    }
  }
  // First those who lose something: the others may be about to take it.
  if (!removed.empty()) tell_removed(removed);
  end(woken);
}

void doorbell::read_events(const char* begin, const char* end, watches& woken, std::vector<std::string>& removed) {
  while (begin < end) {
    inotify_event event{};
    std::memcpy(&event, begin, sizeof event);
    const char* const file_name = begin + sizeof event;
    begin += sizeof event + event.len;
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      for (auto& [name, l] : lines_) ring(l, woken);
      removed.emplace_back();
      continue;
    }
    if (event.wd == directory_wd_) {
      if (event.len != 0) removed.emplace_back(file_name);
      continue;
    }
    const auto named = names_.find(event.wd);
    line* l = named == names_.end() ? nullptr : find(named->second);
    if (l == nullptr) continue;  // of a watch that was taken away since
    if ((event.mask & IN_IGNORED) != 0) {
      l->wd = -1;
      names_.erase(named);
    }
    if ((event.mask & IN_CLOSE_WRITE) != 0) l->looks_after_close = 0;
    ring(*l, woken);
  }
}

void doorbell::ring_again(const std::string& name) {
  watches woken;
  {
    std::lock_guard lock(mutex_);
    if (line* l = find(name)) ring(*l, woken);
  }
  end(woken);
}

}  // namespace holdfast::file
