#include "line_desk.hpp"

#include <algorithm>

namespace holdfast::etcd {

namespace {

failure not_ours() { return {errc::lost, "the store does not know this lease any more"}; }

bool is(const etcdserverpb::ResponseOp& said, std::int64_t created) {
  const auto& kvs = said.response_range().kvs();
  return !kvs.empty() && kvs.Get(0).create_revision() == created;
}

bool is_ghost(const ticket& t, const std::string& key) {
  return std::find(t.ghosts.begin(), t.ghosts.end(), key) != t.ghosts.end();
}

}  // namespace

void line_desk::convert(const ledger::page& t, spi::access to, spi::caller from, spi::completion<bool> done) {
  if (to == spi::access::shared) return downgrade(t, from, std::move(done));
  upgrade(t, from, std::move(done));
}

/// The reader's key has been there all the time. Guarded by both, this may be sent again; and carried out late, when
/// there is another writer's key, it does nothing.
void line_desk::downgrade(const ledger::page& t, spi::caller from, spi::completion<bool> done) {
  // From now on a renewal does not miss the writer's.
  if (t->writer_revision != 0) t->given_up = t->writer_revision;
  office_.tickets.place_writer(t, t->second_key, 0);
  script s;
  s.created(t->key, t->revision).created(t->second_key, t->given_up).remove(t->second_key);
  s.otherwise(script::range(t->key)).otherwise(script::range(t->second_key));
  office_.txn(s, from, [this, t, done = std::move(done)](const auto& said) mutable {
    if (!said) return done(said.error());
    if (!said->succeeded()) {
      // An earlier try may have done it.
      const bool gone = said->responses(1).response_range().kvs().empty();
      if (!is(said->responses(0), t->revision) || !gone) return done(not_ours());
    }
    office_.eyes->ignore(t->second_key, t->claim.id, lookout::afterwards::close);
    done(true);
  });
}

/// Only alone: with anybody else in line, there is no place for a writer that all of them would respect.
void line_desk::upgrade(const ledger::page& t, spi::caller from, spi::completion<bool> done) {
  const auto line = everything_below(office_.names.line(t->claim.name));
  auto all = script::range(line, script::order::oldest_first);
  all.set_keys_only(true);
  office_.list(std::move(all), from, [this, t, from, done = std::move(done)](const auto& said) mutable {
    if (!said) return done(said.error());
    bool there = false;
    for (const auto& one : said->kvs()) {
      if (one.key() == t->key && one.create_revision() == t->revision) there = true;
      if (one.key() == t->key || is_ghost(*t, one.key())) continue;
      if (office_.names.form_of(t->claim.name, one.key()) != keys::form::nested) return done(false);
    }
    if (!there) return done(not_ours());
    upgrade_alone(t, said->header().revision(), from, std::move(done));
  });
}

/// Under a key of its own each time: what was not answered may come late, and is then removed as nobody's.
void line_desk::upgrade_alone(const ledger::page& t, std::int64_t seen_at, spi::caller from,
                              spi::completion<bool> done) {
  const std::string key = office_.names.writer(t->claim.name, stamp());
  script s;
  s.created(t->key, t->revision).absent(key);
  s.none_since(everything_below(office_.names.line(t->claim.name)), seen_at);
  s.put(key, t->value, t->lease);
  for (const auto& ghost : t->ghosts) s.remove(ghost);
  s.otherwise(script::range(t->key));
  office_.txn(s, from, [this, t, key, done = std::move(done)](const auto& said) mutable {
    if (!said) {
      t->ghosts.push_back(key);
      office_.haunt(key, t->value);
      return done(said.error());
    }
    if (!said->succeeded()) return done(is(said->responses(0), t->revision) ? result<bool>(false) : not_ours());
    office_.tickets.place_writer(t, key, said->header().revision());
    office_.guard(t);
    done(true);
  });
}

}  // namespace holdfast::etcd
