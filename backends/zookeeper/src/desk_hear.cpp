#include "badge.hpp"
#include "desk.hpp"
#include "zk_error.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

void desk::listen_to(const seat_ptr& s, const std::string& path) {
  const auto [first, last] = interests_.equal_range(path);
  const bool known = std::any_of(first, last, [&](const auto& one) { return one.second == s->claim.id; });
  if (!known) interests_.emplace(path, s->claim.id);
}

void desk::unlisten(const seat& s, const std::string& path) {
  const auto [first, last] = interests_.equal_range(path);
  for (auto one = first; one != last;) one = one->second == s.claim.id ? interests_.erase(one) : std::next(one);
}

/// What it waited for before does not matter any more.
void desk::wait_for(seat& s, const std::string& path) {
  if (!s.before.empty() && s.before != path) unlisten(s, s.before);
  s.before = path;
}

/// Asks to be told when `path` goes. As Curator does, by reading it; who may not read it can still see whether it is
/// there.
void desk::watch_node(const seat_ptr& s, const std::string& path) {
  listen_to(s, path);
  const auto gone = [this, s, path](int code) {
    turn t(*this);
    if (code == ZOK || !present(s) || s->before != path) return;
    unlisten(*s, path);  // there is no watch
    wake(t, *s, spi::look_again{});
  };
  store_.get(path, watching::yes, [this, gone, path](int code, const std::string&, const ::Stat&) {
    if (code != ZNOAUTH) return gone(code);
    store_.exists(path, watching::yes, [gone](int seen, const ::Stat&) { gone(seen); });
  });
}

void desk::watch_own(const seat_ptr& s) {
  std::vector<std::string> paths = s->leases;
  if (!s->node.empty()) paths.push_back(s->own_path());
  for (const auto& path : paths) {
    listen_to(s, path);
    store_.get(path, watching::yes, [this, s, path](int code, const std::string& value, const ::Stat& stat) {
      if (code != ZNOAUTH) return on_own_seen(s, path, code, value, stat);
      store_.exists(path, watching::yes,
                    [this, s, path](int seen, const ::Stat& found) { on_own_seen(s, path, seen, {}, found); });
    });
  }
}

void desk::on_own_seen(const seat_ptr& s, const std::string& path, int code, const std::string& value,
                       const ::Stat& stat) {
  turn t(*this);
  if (!present(s) || !owns(*s, path)) return;
  if (code == ZOK && stat.ephemeralOwner == store_.id()) {
    s->watched = true;
    if (value == revocation) engine_.asked_for(s->claim.id);
    return;
  }
  if (outcome_unknown(code)) {
    if (s->now == seat::stage::held) unwatched_.push_back(s);
    return;
  }
  on_own_change(t, s, change::removed);
}

void desk::on_own_change(turn& t, const seat_ptr& s, change what) {
  if (what == change::written) return watch_own(s);
  if (what != change::removed) return;
  if (s->now == seat::stage::held) {
    if (may_have_turned(*s)) return look_on_other_side(s);
    // One permit of several is gone, and with it the claim: the others go too, and whatever else there may be.
    if (s->leases.size() > 1 || s->uncertain) bury(*s);
    return lose(t, s, loss::taken);
  }
  if (s->now == seat::stage::outside) {
    // Whoever is about to grant it finds that out.
    s->node.clear();
    s->watched = false;
    return;
  }
  forget_nodes(*s);
  wake(t, *s, spi::look_again{});
}

/// The node before ours went. If it was the first in line, ours is now, and nobody need be asked: nothing can come
/// between, and had ours gone before it we had been told first. Over another connection than the one the line was read
/// by, that order is not promised.
void desk::on_predecessor(turn& t, const seat_ptr& s, change what) {
  const bool sure = what == change::removed && s->next && s->watched && s->watch && store_.connected() &&
                    s->generation == store_.generation() && s->connection == store_.connection();
  // With a session all its nodes go, in any order: what went before ours may be the first of them.
  const bool together = s->kin && !going_.contains(s->before);
  // A grant that is nearly over would be a nuisance: a look makes it a fresh one.
  const bool fresh = engine_.now() + store_.timeout() / 4 < store_.end();
  if (!sure || together || !fresh) return wake(t, *s, spi::look_again{});
  s->grant.expires = lasts_until(s->claim, engine_.now());
  s->grant.session_ends = store_.shared_end();
  s->now = seat::stage::held;
  wait_for(*s, {});
  schedule(engine_.now() + pulse());
  wake(t, *s, s->grant);
}

void desk::on_change(change what, const std::string& path) {
  turn t(*this);
  const auto [first, last] = interests_.equal_range(path);
  std::vector<seat_ptr> touched;
  for (auto one = first; one != last; ++one)
    if (auto s = find(one->second)) touched.push_back(std::move(s));
  // A watch fires once.
  interests_.erase(first, last);
  for (const auto& s : touched) {
    if (owns(*s, path)) {
      on_own_change(t, s, what);
    } else if (s->now == seat::stage::queued && s->before == path) {
      on_predecessor(t, s, what);
    }
  }
}

void desk::wake(turn& t, seat& s, spi::wake why) {
  if (!s.watch) return void(s.woken = true);
  t.after([watch = std::move(s.watch), why]() mutable { watch(why); });
  s.watch = nullptr;
}

void desk::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  turn t(*this);
  const auto s = find(queued.id);
  if (!s || s->now != seat::stage::queued || s->woken)
    return t.after([done = std::move(done)]() mutable { done(spi::wake(spi::look_again{})); });
  wake(t, *s, spi::look_again{});
  s->woken = false;
  s->watch = std::move(done);
}

void desk::lose(turn& t, const seat_ptr& s, loss cause) {
  drop(s);
  t.after([this, id = s->claim.id, cause] { engine_.lost(id, cause); });
}

void desk::on_connected() {
  turn t(*this);
  // Whoever waits looks again: what happened meanwhile comes in no order.
  for (const auto& [id, s] : seats_) {
    s->watched = false;
    if (s->now == seat::stage::queued) wake(t, *s, spi::look_again{});
    if (s->now == seat::stage::held) unwatched_.push_back(s);
  }
  dig_all(t);
  if (!seats_.empty()) schedule(engine_.now());
}

void desk::dig_all(turn& t) {
  for (auto& g : std::exchange(graves_, {})) {
    // Here and now: what is sent after this, in place of what it removes, stays.
    if (g.generation == store_.generation()) {
      dig(g);
    } else if (g.told) {
      t.after([told = std::move(g.told)] { told(ZSESSIONEXPIRED); });
    }
  }
}

void desk::on_suspended() {
  const turn t(*this);
  if (seats_.empty()) return;
  engine_.log(log_level::warning, store_.where().shown() +
                                      ": the connection is gone; leases last until the session's " +
                                      "time is over, unless it comes back");
}

void desk::on_ended() {
  turn t(*this);
  // They went with the session.
  for (auto& g : std::exchange(graves_, {}))
    if (g.told) t.after([told = std::move(g.told)] { told(ZSESSIONEXPIRED); });
  std::vector<seat_ptr> all;
  for (const auto& [id, s] : seats_) all.push_back(s);
  for (const auto& s : all) {
    if (s->now == seat::stage::held) {
      lose(t, s, loss::session_ended);
    } else {
      forget_nodes(*s);
      wake(t, *s, spi::look_again{});
    }
  }
}

void desk::schedule(spi::time_point when) {
  if (when >= next_look_) return;
  next_look_ = when;
  // An earlier one that is still set looks too, and finds nothing to do.
  engine_.at(when, [this] { tend(); });
}

/// Hears of the end of what is held, has a quorum confirm the session, and ends what is held when none has for so long
/// that the leader may end it.
void desk::tend() {
  turn t(*this);
  const auto now = engine_.now();
  if (now < next_look_) return;
  next_look_ = spi::time_point::max();
  if (store_.connected()) dig_all(t);
  if (seats_.empty()) return unwatched_.clear();
  const auto over = store_.end();
  if (now >= over) {
    std::vector<seat_ptr> held;
    for (const auto& [id, s] : seats_)
      if (s->now == seat::stage::held) held.push_back(s);
    for (const auto& s : held) {
      bury(*s);
      lose(t, s, loss::unreachable);
    }
  }
  if (store_.connected()) {
    for (const auto& s : std::exchange(unwatched_, {}))
      if (present(s) && s->now == seat::stage::held && !s->watched) watch_own(s);
  }
  if (now - store_.agreement() >= pulse()) beat();
  auto next = now + pulse();
  if (now < over) next = std::min(next, over);
  schedule(next);
}

/// By a node of ours, if there is one: then we also know that it is there. A read would not do: a server that is cut
/// off from the others answers it all the same.
void desk::beat() {
  if (std::exchange(beating_, true)) return;
  const auto one = std::find_if(seats_.begin(), seats_.end(), [&](const auto& entry) {
    return !entry.second->node.empty() && entry.second->generation == store_.generation();
  });
  const seat_ptr s = one == seats_.end() ? nullptr : one->second;
  const std::string path = s ? s->own_path() : "/";
  store_.check({path}, [this, s, path](int code) {
    turn t(*this);
    beating_ = false;
    if (code == ZNONODE && s && present(s) && owns(*s, path)) on_own_change(t, s, change::removed);
  });
}

}  // namespace holdfast::zookeeper
