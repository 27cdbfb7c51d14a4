#include "pool_desk.hpp"

#include <charconv>
#include <utility>

namespace holdfast::etcd {

namespace {

constexpr unsigned most_tries = 64;  // each lost to somebody who took something
constexpr unsigned strict_tries = 8;
constexpr std::size_t remembered = 4096;

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool counts(const ticket& t) { return t.claim.kind == spi::kind::semaphore; }

etcdserverpb::RangeRequest oldest(const key_range& where) {
  auto request = script::range(where, script::order::oldest_first, 1);
  request.set_keys_only(true);
  return request;
}

void answer(const departure& d, bool left) {
  if (d->done) d->done(left);
}

}  // namespace

void pool_desk::enter(const job& j) {
  office_.tickets.look(j->t);
  j->t->tried_to_leave = false;
  if (j->t->claim.kind == spi::kind::latch) return enter_latch(j);
  office_.with_lease(j, [this, j] {
    const bool first = j->t->key.empty();
    if (first) name_keys(j);
    // Of permits nobody holds any, most of the time.
    if (first && !counts(*j->t)) return try_at_once(j);
    look(j);
  });
}

void pool_desk::enter_latch(const job& j) {
  const std::string key = office_.names.number(j->t->claim.name, spi::kind::latch);
  office_.list(script::range(key), j->request.caller, [this, j, key](const auto& said) {
    if (!said) return fail(j, said.error());
    if (said->kvs_size() == 0) {
      office_.close(j->t);
      return j->done(spi::entry_result(spi::granted{}));
    }
    if (!j->request.queue) return office_.give_up(j);
    j->seen_at = said->header().revision();
    office_.wait_behind(j, key);
  });
}

void pool_desk::name_keys(const job& j) {
  ticket& t = *j->t;
  // Others than those of an earlier visit, which may be deleted late.
  const std::string who = t.claim.id.hex() + (t.visit == 0 ? "" : "-" + std::to_string(t.visit));
  // Of a counting_semaphore, what says that it was taken: a grant leaves nothing else.
  const std::string own = counts(t) ? office_.names.done(t.claim.id) : office_.names.permits(t.claim.name) + who;
  office_.tickets.choose_key(j->t, [&](unsigned) { return own; });
  office_.tickets.place_writer(j->t, office_.names.waits(t.claim.name) + who, 0);
  t.value = record::of(t.claim, office_.engine.who()).text() + "\tlease=" + hex(t.lease);
}

void pool_desk::try_at_once(const job& j) {
  const ticket& t = *j->t;
  script s;
  s.none(others(t)).none(line(t)).put(t.key, t.value, t.lease);
  j->sent = office_.engine.now();
  office_.txn(s, j->request.caller, [this, j](const auto& said) {
    if (!said) return on_failure(j, said.error(), &pool_desk::look);
    if (said->succeeded()) return settle(j, said->header().revision());
    look(j);
  });
}

void pool_desk::on_failure(const job& j, const failure& why, void (pool_desk::*again)(const job&)) {
  if (office_.again_with_new_lease(j, why)) return office_.with_lease(j, [this, j, again] { (this->*again)(j); });
  if (why.code == errc::unavailable) j->t->may_come_late = true;
  fail(j, why);
}

/// Nothing is known of it; or the server will not, and then nothing of it may stay.
void pool_desk::fail(const job& j, const failure& why) {
  if (why.code == errc::unavailable || why.code == errc::lost) return j->done(failure{errc::unavailable, why.detail});
  if (j->t->key.empty()) return office_.refuse(j, why);
  leave(j->t, spi::caller::must_not_block, [j, why](const result<bool>&) { j->done(why); });
}

void pool_desk::look(const job& j) {
  const ticket& t = *j->t;
  script s;
  s.then(script::range(others(t), script::order::oldest_first)).then(oldest(line(t))).read(t.key);
  j->sent = office_.engine.now();
  office_.txn(s, j->request.caller, [this, j](const auto& said) {
    if (!said) return fail(j, said.error());
    auto v = view_of(*j->t, said->responses(0).response_range().kvs(), said->header().revision());
    const auto& own = said->responses(2).response_range().kvs();
    if (!own.empty()) v.granted = own.Get(0).create_revision();
    check_line(j, said->responses(1).response_range().kvs(), [this, j, v = std::move(v)] { decide(j, v); });
  });
}

/// Is the name a mutex or a read-write lock? What only looks so belongs to a longer name.
void pool_desk::check_line(const job& j, const listing& head, std::function<void()> next) {
  if (head.empty()) return next();
  const std::string name = j->t->claim.name;
  const auto judge = [this, j, name](const mvccpb::KeyValue& one) {
    const auto form = office_.names.form_of(name, one.key());
    if (form == keys::form::nested) return false;
    refuse(j, office::other_kind(name, j->t->claim.kind,
                                 form == keys::form::mutex ? spi::kind::mutex : spi::kind::shared_mutex));
    return true;
  };
  if (judge(head.Get(0))) return;
  auto all = script::range(line(*j->t), script::order::oldest_first);
  all.set_keys_only(true);
  office_.list(std::move(all), j->request.caller, [this, j, judge, next = std::move(next)](const auto& said) {
    if (!said) return fail(j, said.error());
    for (const auto& one : said->kvs())
      if (judge(one)) return;
    next();
  });
}

pool_desk::view pool_desk::view_of(const ticket& t, const listing& all, std::int64_t revision) const {
  view v;
  v.revision = revision;
  v.free = counts(t) ? 0 : std::int64_t{t.claim.limit};
  for (const auto& kv : all) {
    const auto place = office_.names.other_place_of(kv.key());
    if (place) count_in(v, t, *place, kv);
  }
  return v;
}

void pool_desk::count_in(view& v, const ticket& t, const keys::other_place& place, const mvccpb::KeyValue& kv) const {
  const auto kind = kind_of_other(place.what, kv.value());
  if (!kind) return;
  if (*kind != t.claim.kind) {
    v.refusal = office::other_kind(t.claim.name, t.claim.kind, *kind);
    return;
  }
  if (*kind == spi::kind::semaphore && place.what == "semaphore") {
    v.free = number(kv.value());
    v.number_mod = kv.mod_revision();
    return;
  }
  const auto who = record::parse(kv.value());
  if (who && !counts(t) && who->limit != t.claim.limit) {
    v.refusal = failure{errc::rejected, "'" + t.claim.name + "' has " + std::to_string(who->limit) +
                                            " permits as long as any is in use, not " + std::to_string(t.claim.limit)};
    return;
  }
  if (place.what.starts_with("permit\t")) {
    v.free -= who ? who->permits : 1;
  } else if (kv.key() == t.second_key) {
    v.place = kv.create_revision();
  } else if (v.place == 0) {
    v.ahead = kv.key();  // oldest first: the last before ours
  }
}

void pool_desk::decide(const job& j, const view& v) {
  const ticket& t = *j->t;
  j->seen_at = v.revision;
  if (v.granted != 0) return settle(j, v.granted);
  if (v.refusal) {
    script s;
    s.remove(t.second_key);
    auto why = *v.refusal;
    if (v.place == 0) return refuse(j, why);
    return office_.txn(s, j->request.caller, [this, j, why](const auto&) { refuse(j, why); });
  }
  const bool enough = v.free >= std::int64_t{t.claim.permits};
  if (v.ahead.empty() && enough) return take(j, v);
  if (!j->request.queue) {
    see_to_late(j->t);
    return office_.give_up(j);
  }
  if (v.place == 0) return stand_in_line(j);
  if (!v.ahead.empty()) return office_.wait_behind(j, v.ahead);
  if (counts(t))
    return office_.wait_behind(j, office_.names.number(t.claim.name, spi::kind::semaphore),
                               lookout::scope::key_changed);
  office_.wait_behind(j, office_.names.permits(t.claim.name), lookout::scope::below_deleted);
}

void pool_desk::stand_in_line(const job& j) {
  const ticket& t = *j->t;
  script s;
  // Carried out late, when the permits are taken, it would be a place in line that nobody waits at.
  s.absent(t.key).absent(t.second_key).put(t.second_key, t.value, t.lease);
  office_.txn(s, j->request.caller, [this, j](const auto& said) {
    if (!said) return on_failure(j, said.error(), &pool_desk::look);
    look(j);
  });
}

void pool_desk::take(const job& j, const view& v) {
  const ticket& t = *j->t;
  const std::string& name = t.claim.name;
  script s;
  s.absent(t.key);
  // Still first in line, and nobody has taken anything since.
  if (v.place != 0)
    s.created(t.second_key, v.place);
  else
    s.none_since(everything_below(office_.names.waits(name)), v.revision);
  if (counts(t)) {
    const std::string key = office_.names.number(name, spi::kind::semaphore);
    s.modified(key, v.number_mod).put(key, std::to_string(v.free - std::int64_t{t.claim.permits}));
  } else {
    s.none_since(everything_below(office_.names.permits(name)), v.revision);
    if (j->tries < strict_tries) s.none_since(line(t), v.revision);
  }
  s.put(t.key, t.value, t.lease).remove(t.second_key);
  j->sent = office_.engine.now();
  office_.txn(s, j->request.caller, [this, j](const auto& said) {
    if (!said) return on_failure(j, said.error(), &pool_desk::look);
    if (said->succeeded()) return settle(j, said->header().revision());
    if (++j->tries > most_tries) return j->done(failure{errc::unavailable, "too many take permits at the same time"});
    look(j);
  });
}

void pool_desk::settle(const job& j, std::int64_t revision) {
  const auto& t = j->t;
  if (!counts(*t)) {
    office_.tickets.place(t, revision);
    return office_.settle(j, fencing_token(static_cast<std::uint64_t>(revision)), 1);
  }
  // Taken for good. That it was needs no remembering any more, once this is known here.
  script s;
  s.remove(t->key);
  office_.txn(s, spi::caller::must_not_block, [](const auto&) {});
  close_taken(t);
  {
    const std::lock_guard lock(mutex_);
    taken_.push_back(t->claim.id);
    if (taken_.size() > remembered) taken_.pop_front();
  }
  j->done(spi::entry_result(spi::granted{}));
}

void pool_desk::leave(const spi::claim& c, spi::caller from, spi::completion<bool> done) {
  {
    const std::lock_guard lock(mutex_);
    if (std::erase(taken_, c.id) == 0) return done(false);
  }
  // Under an id of its own: that of the claim may still be noted as taken.
  auto id_back = c.id;
  id_back.bytes[0] ^= 0xff;
  const spi::count_request back{c.name, c.kind, spi::count_request::op::add, std::int64_t{c.permits}, id_back};
  numbers_.count(back, from, [this, id = c.id, done = std::move(done)](const result<spi::count_reply>& said) mutable {
    if (said) return done(true);
    {
      const std::lock_guard lock(mutex_);
      taken_.push_back(id);  // the engine asks again
    }
    done(said.error());
  });
}

void pool_desk::leave(const ledger::page& t, spi::caller from, spi::completion<bool> done) {
  if (t->claim.kind == spi::kind::latch || t->key.empty()) {
    office_.close(t);
    return done(true);
  }
  send_away(office_.depart(t, std::move(done)), from);
}

void pool_desk::send_away(const departure& d, spi::caller from) {
  const auto& t = d->t;
  // Both keys have our id in their names: they are nobody else's.
  script s;
  s.absent(t->key);
  s.remove(t->second_key);
  if (!counts(*t)) s = script().remove(t->key).remove(t->second_key);
  office_.txn(s, from, [this, d](const auto& said) {
    if (!said) return office_.unanswered(d, said.error(), [this, d] { send_away(d, spi::caller::must_not_block); });
    on_left(d, *said);
  });
}

void pool_desk::on_left(const departure& d, const etcdserverpb::TxnResponse& said) {
  const auto& t = d->t;
  bool left = t->tried_to_leave;  // what is gone may have gone by a try that was not answered
  const bool open = office_.tickets.find(t->claim.id) == t;  // or it was begun anew meanwhile
  if (open && counts(*t)) {
    left = left || !said.succeeded() || said.responses(0).response_delete_range().deleted() > 0;
    const bool taken = !said.succeeded() || t->may_come_late;
    close_taken(t);
    // Not before they are back: the client may end after this.
    if (taken) return give_back(t, [d, left] { answer(d, left); });
  } else if (open) {
    for (const auto& one : said.responses()) left = left || one.response_delete_range().deleted() > 0;
    office_.close(t);
  }
  answer(d, left);
}

/// Of a counting_semaphore. Whether it was taken is seen to; its place in line may still come late, and would be the
/// first for as long as the client lives.
void pool_desk::close_taken(const ledger::page& t) {
  if (std::exchange(t->may_come_late, false)) office_.haunt(t->second_key, t->value);
  office_.close(t);
}

/// The answer is known, but a try that was not answered may yet take permits.
void pool_desk::see_to_late(const ledger::page& t) {
  if (!counts(*t) || !t->may_come_late) return;
  close_taken(t);
  give_back(t, [] {});
}

void pool_desk::refuse(const job& j, const failure& why) {
  see_to_late(j->t);
  office_.refuse(j, why);
}

/// Permits that were taken, or may yet be, by a question that was never answered. `then`: it was tried once.
void pool_desk::give_back(const ledger::page& t, std::function<void()> then) {
  undo(t, std::move(then));
  office_.haunt([this, t] { undo(t, [] {}); });
}

void pool_desk::undo(const ledger::page& t, std::function<void()> then) {
  const std::string key = office_.names.number(t->claim.name, spi::kind::semaphore);
  script s;
  s.read(key).read(t->key);
  office_.txn(s, spi::caller::must_not_block, [this, t, key, then = std::move(then)](const auto& said) mutable {
    if (!said || said->responses(1).response_range().kvs_size() == 0) return then();
    const auto& now = said->responses(0).response_range().kvs();
    const std::int64_t value = now.empty() ? 0 : number(now.Get(0).value());
    script back;
    back.modified(key, now.empty() ? 0 : now.Get(0).mod_revision());
    back.created(t->key, said->responses(1).response_range().kvs(0).create_revision());
    back.put(key, std::to_string(value + std::int64_t{t->claim.permits})).remove(t->key).remove(t->second_key);
    office_.txn(back, spi::caller::must_not_block, [this, t, then = std::move(then)](const auto& answered) mutable {
      if (answered && !answered->succeeded()) return undo(t, std::move(then));  // somebody was faster
      then();
    });
  });
}

}  // namespace holdfast::etcd
