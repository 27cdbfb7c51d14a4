#include "line_desk.hpp"
#include "record.hpp"

#include <algorithm>
#include <charconv>

// Tokens are create revisions: greater for whoever comes later, without anything written for them. Only where that is
// not enough, a key beside the lock keeps the greatest token given out: when a process draws a block to hand over among
// its threads, and when a quorum asks for greater ones. It goes when revisions have overtaken it.

namespace holdfast::etcd {

namespace {

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void line_desk::note_floor(const job& j, const etcdserverpb::RangeResponse& said) const {
  const bool there = said.kvs_size() > 0;
  j->floor = there ? number(said.kvs(0).value()) : 0;
  j->floor_mod = there ? said.kvs(0).mod_revision() : 0;
}

void line_desk::draw(const job& j) {
  ticket& t = *j->t;
  const auto revision = static_cast<std::uint64_t>(t.revision);
  const bool blocks = office_.where.tokens == token_source::block;
  const bool local = blocks && t.claim.kind == spi::kind::mutex;
  const std::uint32_t wanted = local ? std::max<std::uint32_t>(1, j->request.tokens) : 1;
  if (wanted > 1 || (blocks && j->floor >= revision)) return draw_from_floor(j, wanted);
  t.idle_floor = j->floor_mod;
  office_.settle(j, fencing_token(revision), 1);
}

void line_desk::draw_from_floor(const job& j, std::uint32_t wanted) {
  const ticket& t = *j->t;
  const std::uint64_t first = std::max(static_cast<std::uint64_t>(t.revision), j->floor + 1);
  const std::string key = office_.names.token(t.claim.name);
  script s;
  require(s, t);
  s.modified(key, j->floor_mod).put(key, std::to_string(first + wanted - 1));
  // So that inspect shows it. (Not of a shared_mutex: its recipe goes by the revision of the last change.)
  if (t.claim.kind == spi::kind::mutex) {
    auto shown = record::parse(t.value);
    if (shown) {
      shown->token = first;
      s.put(t.key, shown->text() + "\tlease=" + hex(t.lease), t.lease);
    }
  }
  s.otherwise(script::range(t.key)).otherwise(script::range(key));
  office_.txn(s, j->request.caller, [this, j, first, wanted](const auto& said) {
    if (!said) return fail(j, said.error());
    if (said->succeeded()) return office_.settle(j, fencing_token(first), wanted);
    if (said->responses(0).response_range().kvs_size() == 0)
      return j->done(failure{errc::unavailable, "the place in line went while tokens were drawn"});
    note_floor(j, said->responses(1).response_range());
    draw(j);
  });
}

void line_desk::raise(const ledger::page& t, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  if (office_.where.tokens == token_source::revision)
    return done(failure{errc::unsupported, "with tokens=revision the tokens are etcd's, and cannot be raised"});
  const std::string key = office_.names.token(t->claim.name);
  office_.list(script::range(key), from, [this, t, key, floor, from, done = std::move(done)](const auto& said) mutable {
    if (!said) return done(said.error());
    const bool there = said->kvs_size() > 0;
    const std::uint64_t now = there ? number(said->kvs(0).value()) : 0;
    if (now >= floor.value()) return done(true);
    script s;
    require(s, *t);
    s.modified(key, there ? said->kvs(0).mod_revision() : 0).put(key, std::to_string(floor.value()));
    s.otherwise(script::range(t->key));
    office_.txn(s, from, [this, t, floor, from, done = std::move(done)](const auto& answer) mutable {
      if (!answer) return done(answer.error());
      t->idle_floor = 0;
      if (answer->succeeded()) return done(true);
      const auto& own = answer->responses(0).response_range();
      if (own.kvs_size() == 0 || own.kvs(0).create_revision() != t->revision)
        return done(failure{errc::lost, "the store does not know this lease any more"});
      raise(t, floor, from, std::move(done));
    });
  });
}

}  // namespace holdfast::etcd
