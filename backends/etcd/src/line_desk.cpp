#include "line_desk.hpp"

#include "record.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::etcd {

using etcdserverpb::RangeRequest;
using order = script::order;

namespace {

constexpr unsigned most_collisions = 16;

bool writes(const ticket& t) {
  return t.claim.kind == spi::kind::shared_mutex && t.claim.access == spi::access::exclusive;
}
bool reads(const ticket& t) { return t.claim.kind == spi::kind::shared_mutex && t.claim.access == spi::access::shared; }

bool is_own(const ticket& t, const std::string& key) { return key == t.key || key == t.second_key; }

RangeRequest keys_of(const key_range& where, order by, std::int64_t limit, std::int64_t up_to) {
  auto request = script::range(where, by, limit);
  request.set_keys_only(true);
  request.set_max_create_revision(up_to);
  return request;
}

spi::kind kind_of(keys::form form) { return form == keys::form::mutex ? spi::kind::mutex : spi::kind::shared_mutex; }

}  // namespace

void line_desk::require(script& s, const ticket& t) {
  s.created(t.key, t.revision);
  if (t.writer_revision != 0) s.created(t.second_key, t.writer_revision);
}

void line_desk::enter(const job& j) {
  const bool woken = office_.tickets.look(j->t);
  if (j->t->revision == 0) return begin(j);
  const std::string awaited = woken ? std::string() : office_.tickets.awaited_by(j->t);
  if (!awaited.empty() && j->request.queue) return look_at_awaited(j, awaited);
  confirm(j);
}

/// Nothing is known of it; or the server will not, and then nothing of it may stay.
void line_desk::fail(const job& j, const failure& why) {
  if (why.code == errc::unavailable || why.code == errc::lost) return j->done(failure{errc::unavailable, why.detail});
  const auto& t = j->t;
  if (t->key.empty() || (t->revision == 0 && !t->may_come_late)) return office_.refuse(j, why);
  leave(t, spi::caller::must_not_block, [j, why](const result<bool>&) { j->done(why); });
}

void line_desk::begin(const job& j) {
  office_.with_lease(j, [this, j] {
    name_keys(j);
    create(j);
  });
}

/// Nanoseconds since 1970, as the recipe numbers its keys; ours are never the same twice.
std::uint64_t line_desk::stamp() {
  const auto now = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  std::uint64_t last = last_stamp_;
  std::uint64_t next = 0;
  do {
    next = std::max(now, last + 1);
  } while (!last_stamp_.compare_exchange_weak(last, next));
  return next;
}

void line_desk::name_keys(const job& j) {
  ticket& t = *j->t;
  const std::string& name = t.claim.name;
  // Sent again after an unknown outcome it must be the same key; but never one that another lease has.
  if (!t.key.empty() && t.may_come_late && t.value.find("\tlease=" + hex(t.lease)) != t.value.npos) return;
  if (t.claim.kind == spi::kind::mutex) {
    office_.tickets.choose_key(j->t,
                               [&](unsigned which) { return office_.names.mutex(name, t.lease, which + j->tries); });
  } else {
    const std::uint64_t number = number_for(name);
    office_.tickets.choose_key(j->t, [&](unsigned which) { return office_.names.reader(name, number + which); });
    const std::string digits = t.key.substr(t.key.rfind('/') + 1);
    office_.tickets.place_writer(j->t, office_.names.writers(name) + digits, 0);
  }
  // The number makes it another value than that of any earlier try, which may be carried out late and is then removed.
  t.value = record::of(t.claim, office_.engine.who()).text() + "\tlease=" + hex(t.lease) +
            "\tplace=" + std::to_string(stamp());
}

/// What must go before it is our turn: for a reader the last writer, for all others whatever is there.
void line_desk::list_those_ahead(script& s, const ticket& t, std::int64_t up_to) const {
  const auto line = everything_below(office_.names.line(t.claim.name));
  if (reads(t)) {
    s.then(keys_of(everything_below(office_.names.writers(t.claim.name)), order::youngest_first, 1, up_to));
    s.then(keys_of(line, order::oldest_first, 1, up_to));
  } else {
    s.then(keys_of(line, order::youngest_first, writes(t) ? 3 : 2, up_to));
  }
  s.read(office_.names.token(t.claim.name));
}

void line_desk::create(const job& j) {
  ticket& t = *j->t;
  const std::string& name = t.claim.name;
  const auto line = everything_below(office_.names.line(name));
  const auto others = everything_below(office_.names.others(name));
  script s;
  s.absent(t.key).none(others);
  // Who does not wait leaves nothing behind: the key is made only if it is granted with it.
  if (!j->request.queue && !j->others_looked_for)
    s.none(reads(t) ? everything_below(office_.names.writers(name)) : line);
  s.put(t.key, t.value, t.lease);
  if (writes(t)) s.put(t.second_key, t.value, t.lease);
  list_those_ahead(s, t, 0);
  s.otherwise(script::range(t.key));
  s.otherwise(keys_of(line, order::oldest_first, 1, 0));
  s.otherwise(script::range(others, order::oldest_first, 1));
  j->sent = office_.engine.now();
  office_.txn(s, j->request.caller, [this, j](auto said) {
    if (said) return said->succeeded() ? on_created(j, *said) : on_not_created(j, *said);
    if (office_.again_with_new_lease(j, said.error())) return begin(j);
    if (said.error().code == errc::unavailable) j->t->may_come_late = true;
    fail(j, said.error());
  });
}

void line_desk::on_created(const job& j, const reply& said) {
  ticket& t = *j->t;
  const auto revision = said.header().revision();
  office_.tickets.place(j->t, revision);
  office_.tickets.place_writer(j->t, t.second_key, writes(t) ? revision : 0);
  j->seen_at = revision;
  act(j, judge(j, said, writes(t) ? 2 : 1));
}

void line_desk::on_not_created(const job& j, const reply& said) {
  ticket& t = *j->t;
  const auto& own = said.responses(0).response_range().kvs();
  if (!own.empty()) {
    // Not by our id: another of the same claim is one that is on its way out.
    if (own.Get(0).value() == t.value) {
      office_.tickets.place(j->t, own.Get(0).create_revision());
      office_.tickets.place_writer(j->t, t.second_key, writes(t) ? own.Get(0).create_revision() : 0);
      return confirm(j);
    }
    if (++j->tries > most_collisions) return office_.refuse(j, {errc::rejected, "'" + t.claim.name + "': no free key"});
    // A try of ours that was not answered may make that key yet.
    if (std::exchange(t.may_come_late, false)) {
      office_.haunt(t.key, t.value);
      if (!t.second_key.empty()) office_.haunt(t.second_key, t.value);
    }
    name_keys(j);
    return create(j);
  }
  const auto& others = said.responses(2).response_range().kvs();
  if (!others.empty()) {
    const auto place = office_.names.other_place_of(others.Get(0).key());
    const auto kind = place ? kind_of_other(place->what, others.Get(0).value()) : std::nullopt;
    return office_.refuse(j, office::other_kind(t.claim.name, t.claim.kind, kind.value_or(spi::kind::permits)));
  }
  const auto& head = said.responses(1).response_range().kvs();
  if (head.empty()) return create(j);  // it went this moment
  const auto found = judge_one(t, head.Get(0));
  if (found.what == verdict::other_kind)
    return office_.refuse(j, office::other_kind(t.claim.name, t.claim.kind, kind_of(found.form)));
  if (found.what == verdict::behind && !reads(t)) return office_.give_up(j);
  survey_before_trying(j);
}

void line_desk::survey_before_trying(const job& j) {
  const ticket& t = *j->t;
  const auto line = everything_below(office_.names.line(t.claim.name));
  office_.list(keys_of(line, order::oldest_first, 0, 0), j->request.caller, [this, j](auto said) {
    if (!said) return fail(j, said.error());
    const auto found = judge_all(*j->t, said->kvs());
    if (found.what == verdict::behind) return office_.give_up(j);
    if (found.what == verdict::other_kind)
      return office_.refuse(j, office::other_kind(j->t->claim.name, j->t->claim.kind, kind_of(found.form)));
    // Only locks with longer names: the key is made, and taken back should somebody have been faster.
    j->others_looked_for = true;
    create(j);
  });
}

void line_desk::confirm(const job& j) {
  const ticket& t = *j->t;
  script s;
  require(s, t);
  list_those_ahead(s, t, t.revision);
  j->sent = office_.engine.now();
  office_.txn(s, j->request.caller, [this, j](auto said) {
    if (!said) return fail(j, said.error());
    if (!said->succeeded()) return on_place_gone(j);
    j->seen_at = said->header().revision();
    act(j, judge(j, *said, 0));
  });
}

/// Nothing was heard, and it is time to look: is the one we wait for still there? The server goes through the whole
/// line to find the last one ahead of us; in a long one, where all look from time to time, that is for who was woken.
void line_desk::look_at_awaited(const job& j, const std::string& awaited) {
  const ticket& t = *j->t;
  auto request = script::range(awaited);
  request.set_keys_only(true);
  script s;
  require(s, t);
  s.then(std::move(request));
  office_.txn(s, j->request.caller, [this, j, awaited](auto said) {
    if (!said) return fail(j, said.error());
    if (!said->succeeded()) return on_place_gone(j);
    const auto& found = said->responses(0).response_range().kvs();
    if (found.empty() || found.Get(0).create_revision() >= j->t->revision) return confirm(j);
    j->seen_at = said->header().revision();
    office_.wait_behind(j, awaited);
  });
}

/// Evicted, or the lease ended: at the end of the line again.
void line_desk::on_place_gone(const job& j) {
  ticket& t = *j->t;
  office_.eyes->ignore(t.key, t.claim.id, lookout::afterwards::close);
  if (t.may_come_late || !t.second_key.empty()) office_.haunt(t.key, t.value);
  if (!t.second_key.empty()) office_.haunt(t.second_key, t.value);
  office_.tickets.place(j->t, 0);
  office_.tickets.place_writer(j->t, t.second_key, 0);
  t.may_come_late = false;
  begin(j);
}

line_desk::judgement line_desk::judge_one(const ticket& t, const mvccpb::KeyValue& ahead) const {
  const auto form = office_.names.form_of(t.claim.name, ahead.key());
  if (form == keys::form::nested) return {verdict::unclear, {}, form};
  if (kind_of(form) != t.claim.kind) return {verdict::other_kind, {}, form};
  return {verdict::behind, ahead.key(), form};
}

line_desk::judgement line_desk::judge(const job& j, const reply& said, int first) const {
  const ticket& t = *j->t;
  const auto& ahead = said.responses(first).response_range().kvs();
  note_floor(j, said.responses(first + (reads(t) ? 2 : 1)).response_range());
  for (const auto& one : ahead) {
    if (is_own(t, one.key()) || one.create_revision() >= t.revision) continue;
    return judge_one(t, one);
  }
  if (!reads(t)) return {};
  // No writer is ahead; but what is may be no read-write lock at all.
  const auto& head = said.responses(first + 1).response_range().kvs();
  if (head.empty() || is_own(t, head.Get(0).key()) || head.Get(0).create_revision() >= t.revision) return {};
  const auto found = judge_one(t, head.Get(0));
  return found.what == verdict::behind ? judgement{} : found;
}

/// Of the whole line, oldest first.
line_desk::judgement line_desk::judge_all(const ticket& t, const listing& all) const {
  judgement last;
  for (const auto& one : all) {
    if (is_own(t, one.key()) || (t.revision != 0 && one.create_revision() >= t.revision)) continue;
    const auto found = judge_one(t, one);
    if (found.what == verdict::other_kind && last.what == verdict::ours) return found;
    if (found.what != verdict::behind || (reads(t) && found.form != keys::form::writer)) continue;
    last = found;
  }
  return last;
}

void line_desk::survey(const job& j) {
  const auto line = everything_below(office_.names.line(j->t->claim.name));
  script s;
  require(s, *j->t);  // it may have been evicted since
  s.then(keys_of(line, order::oldest_first, 0, j->t->revision));
  office_.txn(s, j->request.caller, [this, j](auto said) {
    if (!said) return fail(j, said.error());
    if (!said->succeeded()) return on_place_gone(j);
    j->seen_at = said->header().revision();
    act(j, judge_all(*j->t, said->responses(0).response_range().kvs()));
  });
}

void line_desk::act(const job& j, const judgement& found) {
  switch (found.what) {
    case verdict::ours:
      return draw(j);
    case verdict::behind:
      if (j->request.queue) return office_.wait_behind(j, found.awaited);
      return withdraw(j, [this, j] { office_.give_up(j); });
    case verdict::other_kind: {
      auto why = office::other_kind(j->t->claim.name, j->t->claim.kind, kind_of(found.form));
      return withdraw(j, [this, j, why = std::move(why)] { office_.refuse(j, why); });
    }
    case verdict::unclear:
      return survey(j);
  }
}

void line_desk::withdraw(const job& j, std::function<void()> then) {
  const ticket& t = *j->t;
  script s;
  s.created(t.key, t.revision).remove(t.key);
  if (!t.second_key.empty()) s.remove(t.second_key);
  office_.txn(s, j->request.caller, [j, then = std::move(then)](const auto& said) {
    // The engine leaves after this.
    if (!said) return j->done(failure{errc::unavailable, said.error().detail});
    then();
  });
}

}  // namespace holdfast::etcd
