#include "office.hpp"

#include <algorithm>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

/// Short holds end before it, and cost no watch of their own.
constexpr std::chrono::nanoseconds before_guarding = 100ms;
constexpr std::chrono::nanoseconds between_tries = 1s;
constexpr std::chrono::nanoseconds before_next_member = 30ms;
constexpr std::size_t most_tries = 3;
constexpr std::chrono::nanoseconds longest_pause = 30s;
constexpr std::size_t most_ghosts = 4096;

}  // namespace

office::office(const settings& what, spi::runtime& runtime)
    : where(what),
      engine(runtime),
      names(what.prefix),
      through(what, runtime),
      events(std::make_shared<watches>(through)),
      eyes(std::make_shared<lookout>(
          events, runtime,
          [this](const std::string& key, const spi::owner_id& who, lookout::news n) { on_news(key, who, n); })),
      pulse(std::make_shared<heartbeat>(through, [e = events] { e->cut(); })),
      terms(std::make_shared<leases>(through, pulse, [this](leases::id lease) { on_lost_lease(lease); })) {
  through.when_member_fails([this](std::size_t index) {
    pulse->cut_member(index);
    events->cut_member(index);
  });
}

void office::shut_down() {
  terms->stop();
  const auto session = terms->take_session();
  // What is still held is left to its end; with nothing held, nobody has to wait for that.
  if (session != 0 && tickets.empty()) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(session);
    const auto limit = std::min<std::chrono::nanoseconds>(through.patience(), 1s);
    static_cast<void>(through.ask_member(through.cluster().current(), methods::revoke, request, limit));
  }
  pulse->close();
  events->shut_down();
  through.close();
}

void office::with_lease(const job& j, std::function<void()> next) {
  const auto& t = j->t;
  if (t->lease != 0 && terms->ends(t->lease) != spi::time_point::min()) return next();
  const bool renewed = t->claim.ttl == engine.options().ttl || t->claim.ttl == std::chrono::nanoseconds::zero();
  const auto how = renewed ? ticket::tenure::session : ticket::tenure::own;
  auto got = [this, j, how, next = std::move(next)](const result<leases::allotment>& given) {
    if (!given && given.error().code != errc::unavailable) return refuse(j, given.error());
    if (!given) return j->done(given.error());
    tickets.assign(j->t, given->lease, how);
    j->request.caller = given->from;
    next();
  };
  if (renewed) return terms->session(j->request.caller, std::move(got));
  terms->grant(t->claim.ttl, j->request.caller, [j, got = std::move(got)](const result<leases::id>& lease) {
    if (!lease) return got(lease.error());
    got(leases::allotment{*lease, j->request.caller});
  });
}

bool office::again_with_new_lease(const job& j, const failure& why) {
  if (why.code != errc::lost || j->tries++ >= most_tries) return false;
  terms->gone(j->t->lease);
  return true;
}

void office::wait_behind(const job& j, const std::string& awaited, lookout::scope which) {
  const auto& t = j->t;
  const std::string before = tickets.queue(t, awaited, j->seen_at);
  if (!before.empty() && before != awaited) eyes->ignore(before, t->claim.id, lookout::afterwards::stand_by);
  if (!awaited.empty() && eyes->listen(awaited, which, j->seen_at, t->claim.id)) tickets.wake(t);
  guard(t);
  // Old servers lose events around a compaction: however quiet it is, the line is looked at from time to time.
  const auto again = std::clamp<std::chrono::nanoseconds>(t->claim.ttl / 3, 1s, 5s);
  j->done(spi::entry_result(spi::busy{engine.now() + again}));
}

void office::settle(const job& j, fencing_token first, std::uint32_t tokens) {
  const auto& t = j->t;
  const auto ends = terms->ends(t->lease);
  // Somebody has heard meanwhile that the lease is gone, and the key with it.
  if (ends == spi::time_point::min())
    return j->done(failure{errc::unavailable, "the lease ended while the lock was granted"});
  const std::string before = tickets.hold(t, j->seen_at);
  if (!before.empty()) eyes->ignore(before, t->claim.id, lookout::afterwards::stand_by);
  const bool own = t->lease_is == ticket::tenure::own;
  if (own) terms->let_run(t->lease);
  // It ran while we waited: the time that was asked for begins now. Or there was an election since it was kept alive.
  if ((own && ends < j->sent + t->claim.ttl) || !terms->confirmed(t->lease)) return refresh(j, first, tokens);
  guard(t);
  const auto expires = std::min(j->sent + t->claim.ttl, ends);
  j->done(spi::entry_result(spi::granted{first, tokens, expires}));
}

void office::refresh(const job& j, fencing_token first, std::uint32_t tokens) {
  terms->beat(j->t->lease, [this, j, first, tokens](const result<spi::time_point>& ends) {
    if (!ends) return j->done(failure{errc::unavailable, ends.error().detail});
    guard(j->t);
    j->done(spi::entry_result(spi::granted{first, tokens, std::min(j->sent + j->t->claim.ttl, *ends)}));
  });
}

void office::refuse(const job& j, failure why) {
  close(j->t);
  j->done(std::move(why));
}

void office::give_up(const job& j) {
  close(j->t);
  j->done(spi::entry_result(spi::busy{engine.now()}));
}

void office::close(const ledger::page& t) {
  const std::string awaited = tickets.hold(t, 0);
  if (!awaited.empty()) eyes->ignore(awaited, t->claim.id, lookout::afterwards::stand_by);
  const auto at = tickets.position_of(t);
  if (!at.key.empty()) eyes->ignore(at.key, t->claim.id, lookout::afterwards::close);
  if (!at.writer_key.empty()) eyes->ignore(at.writer_key, t->claim.id, lookout::afterwards::close);
  if (t->lease_is == ticket::tenure::own && t->lease != 0) {
    terms->drop(t->lease);
  } else if (t->may_come_late) {
    haunt(t->key, t->value);
    if (!t->second_key.empty()) haunt(t->second_key, t->value);
  }
  tickets.close(t);
}

ledger::page office::begin_anew(const ledger::page& t) {
  const auto at = tickets.position_of(t);
  // By its creation: its value may have changed.
  const auto remove = [this, at, value = t->value] {
    script s;
    if (at.revision != 0)
      s.created(at.key, at.revision);
    else
      s.holds(at.key, value);
    s.remove(at.key);
    txn(s, spi::caller::must_not_block, [](const auto&) {});
    if (at.writer_key.empty()) return;
    script other;
    other.holds(at.writer_key, value).remove(at.writer_key);
    txn(other, spi::caller::must_not_block, [](const auto&) {});
  };
  if (!at.key.empty()) {
    remove();
    haunt(remove);
  }
  close(t);
  auto fresh = tickets.open(t->claim);
  fresh->visit = t->visit + 1;
  return fresh;
}

departure office::depart(const ledger::page& t, spi::completion<bool> done) const {
  return std::make_shared<departing>(departing{t, std::move(done), engine.now()});
}

void office::unanswered(const departure& d, const failure& why, std::function<void()> again) {
  if (!d->done) return close_later(d->t, std::move(again));
  d->t->tried_to_leave = true;
  const auto next = engine.now() + before_next_member;
  const bool time_left = next + through.patience() <= d->asked + engine.options().request_timeout;
  if (why.code == errc::unavailable && time_left && !process_guard::ending()) {
    engine.at(next, [alive = std::weak_ptr(alive_), again = std::move(again)] {
      if (!alive.expired()) again();
    });
    return;
  }
  auto done = std::exchange(d->done, nullptr);
  close_later(d->t, std::move(again));
  done(why);
}

void office::close_later(const ledger::page& t, std::function<void()> again) {
  t->tried_to_leave = true;
  if (t->leaves_later.exchange(true)) return;  // by an earlier try of the engine's
  engine.at(engine.now() + between_tries,
            [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(t), again = std::move(again)] {
              const auto still = weak.lock();
              if (alive.expired() || !still) return;
              still->leaves_later = false;
              if (!still->tried_to_leave || tickets.find(still->claim.id) != still) return;
              again();
            });
}

void office::haunt(const std::string& key, const std::string& value) {
  haunt([this, key, value] {
    script s;
    s.holds(key, value).remove(key);
    txn(s, spi::caller::must_not_block, [](const auto&) {});
  });
}

void office::haunt(std::function<void()> again) {
  const auto now = engine.now();
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = ghosts_.empty();
    ghosts_.push_back({std::move(again), now, 2 * between_tries});
    if (ghosts_.size() > most_ghosts) ghosts_.pop_front();
  }
  if (!first) return;
  engine.at(now + between_tries, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) lay_ghosts();
  });
}

std::chrono::nanoseconds office::haunted_for() const {
  return std::max<std::chrono::nanoseconds>(60s, 12 * engine.options().request_timeout);
}

void office::after_haunting(std::function<void()> then) {
  engine.at(engine.now() + haunted_for(), [alive = std::weak_ptr(alive_), then = std::move(then)] {
    if (!alive.expired()) then();
  });
}

void office::lay_ghosts() {
  std::vector<std::function<void()>> due;
  const auto now = engine.now();
  {
    const std::lock_guard lock(mutex_);
    for (auto& g : ghosts_) {
      if (g.next > now) continue;
      due.push_back(g.lay);
      g.next = now + g.pause;
      g.pause = std::min<std::chrono::nanoseconds>(2 * g.pause, longest_pause);
    }
  }
  for (const auto& lay : due) lay();
  engine.at(now + 2 * between_tries, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) lay_ghosts();
  });
}

void office::guard(const ledger::page& t) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = unguarded_.empty();
    unguarded_.push_back(t);
  }
  if (!first) return;
  engine.at(engine.now() + before_guarding, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) watch_guarded();
  });
}

void office::watch_guarded() {
  std::vector<std::weak_ptr<ticket>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(unguarded_);
  }
  for (const auto& weak : all) {
    const auto t = weak.lock();
    if (!t || tickets.find(t->claim.id) != t) continue;
    const auto at = tickets.position_of(t);
    if (at.revision == 0) continue;
    watch_guarded(t, at.key, at.seen_at);
    if (at.writer_revision != 0 && tickets.state_of(t) == ticket::state::held)
      watch_guarded(t, at.writer_key, at.seen_at);
  }
}

void office::watch_guarded(const ledger::page& t, const std::string& key, std::int64_t since) {
  // What happened after it was last seen and before the watch stood is looked for.
  if (eyes->listen(key, lookout::scope::key_deleted, since, t->claim.id))
    on_news(key, t->claim.id, lookout::news::doubt);
  // It may have been left this moment, or downgraded.
  const auto at = tickets.position_of(t);
  const bool needed = key == at.key || (key == at.writer_key && at.writer_revision != 0);
  if (!needed || tickets.find(t->claim.id) != t) eyes->ignore(key, t->claim.id, lookout::afterwards::close);
}

void office::on_news(const std::string& key, const spi::owner_id& who, lookout::news what) {
  const auto t = tickets.find(who);
  if (!t) return;
  // In doubt, after a stream broke, all look at once: each at the one it waits for, not at the whole line.
  if (tickets.state_of(t) != ticket::state::held)
    return what == lookout::news::gone ? tickets.wake_by_end(t) : tickets.wake(t);
  const auto at = tickets.position_of(t);
  if (key != at.key && (key != at.writer_key || at.writer_revision == 0)) return;
  if (what == lookout::news::gone) return engine.lost(who, loss::taken);
  verify(t);
}

void office::verify(const ledger::page& t) {
  const auto at = tickets.position_of(t);
  script s;
  s.created(at.key, at.revision);
  if (at.writer_revision != 0) s.created(at.writer_key, at.writer_revision);
  s.read(at.key);
  txn(s, spi::caller::must_not_block, [this, t, at](const auto& reply) {
    if (tickets.find(t->claim.id) != t) return;
    if (reply && reply->succeeded()) return;
    // A downgrade may have taken the writer's key meanwhile.
    const bool changed = tickets.position_of(t).writer_revision != at.writer_revision;
    if (reply && !changed) return engine.lost(t->claim.id, loss::taken);
    engine.at(engine.now() + between_tries, [this, alive = std::weak_ptr(alive_), weak = std::weak_ptr(t)] {
      const auto still = weak.lock();
      if (alive.expired() || !still || tickets.find(still->claim.id) != still) return;
      if (tickets.state_of(still) == ticket::state::held) verify(still);
    });
  });
}

void office::on_lost_lease(leases::id lease) {
  for (const auto& t : tickets.with_lease(lease)) {
    if (tickets.state_of(t) == ticket::state::held)
      engine.lost(t->claim.id, loss::session_ended);
    else
      tickets.wake(t);
  }
}

failure office::other_kind(const std::string& name, spi::kind wanted, spi::kind present) {
  return {errc::rejected, "'" + name + "' is in use as a " + to_string(present) + "; it cannot be a " +
                              to_string(wanted) + " at the same time"};
}

}  // namespace holdfast::etcd
