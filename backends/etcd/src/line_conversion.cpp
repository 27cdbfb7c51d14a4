#include "line_desk.hpp"

namespace holdfast::etcd {

namespace {

failure not_ours() { return {errc::lost, "the store does not know this lease any more"}; }

bool is(const etcdserverpb::ResponseOp& said, std::int64_t created) {
  const auto& kvs = said.response_range().kvs();
  return !kvs.empty() && kvs.Get(0).create_revision() == created;
}

}  // namespace

void line_desk::convert(const ledger::page& t, spi::access to, spi::caller from, spi::completion<bool> done) {
  if (to == spi::access::shared) {
    // The reader's key has been there all the time. Guarded by it, this may be sent again.
    // From now on a renewal does not miss the writer's.
    t->writer_revision = 0;
    script s;
    s.created(t->key, t->revision).remove(t->second_key);
    return office_.txn(s, from, [done = std::move(done)](const auto& said) mutable {
      if (!said) return done(said.error());
      if (!said->succeeded()) return done(not_ours());
      done(true);
    });
  }
  // Only alone: with anybody else in line, there is no place for a writer that all of them would respect.
  const auto line = everything_below(office_.names.line(t->claim.name));
  auto all = script::range(line, script::order::oldest_first);
  all.set_keys_only(true);
  office_.list(std::move(all), from, [this, t, line, from, done = std::move(done)](const auto& said) mutable {
    if (!said) return done(said.error());
    bool there = false;
    for (const auto& one : said->kvs()) {
      if (one.key() == t->key && one.create_revision() == t->revision) there = true;
      if (one.key() == t->key || one.key() == t->second_key) continue;
      if (office_.names.form_of(t->claim.name, one.key()) != keys::form::nested) return done(false);
    }
    if (!there) return done(not_ours());
    script s;
    s.created(t->key, t->revision).none_since(line, said->header().revision());
    s.put(t->second_key, t->value, t->lease);
    s.otherwise(script::range(t->key)).otherwise(script::range(t->second_key));
    office_.txn(s, from, [t, done = std::move(done)](const auto& answer) mutable {
      if (!answer) return done(answer.error());
      if (answer->succeeded()) return t->writer_revision = answer->header().revision(), done(true);
      if (!is(answer->responses(0), t->revision)) return done(not_ours());
      const auto& writer = answer->responses(1).response_range().kvs();
      // From an earlier try that was not answered: it was alone then, and nobody has come past it since.
      if (writer.empty()) return done(false);
      t->writer_revision = writer.Get(0).create_revision();
      done(true);
    });
  });
}

}  // namespace holdfast::etcd
