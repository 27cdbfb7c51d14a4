#include "badge.hpp"
#include "desk.hpp"
#include "zk_error.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

namespace {

const failure not_ours{errc::lost, "the store does not know this lease any more"};

/// The same place in the line on the other side.
std::string other_side(const std::string& node) {
  constexpr std::string_view reader = "__READ__";
  constexpr std::string_view writer = "__WRIT__";
  std::string name = node;
  if (const auto at = name.rfind(reader); at != name.npos) return name.replace(at, reader.size(), writer);
  return name.replace(name.rfind(writer), writer.size(), reader);
}

}  // namespace

void desk::convert(const spi::claim& held, spi::access to, spi::completion<bool> done) {
  turn t(*this);
  const auto s = find(held.id);
  if (!s || s->now != seat::stage::held || s->generation != store_.generation() || s->node.empty())
    return t.after([done = std::move(done)]() mutable { done(not_ours); });
  if (contender::parse(s->node)->access != to) return change_side(s, to, std::move(done));
  if (s->uncertain) return confirm_side(s, to, std::move(done));
  t.after([done = std::move(done)]() mutable { done(true); });
}

void desk::change_side(const seat_ptr& s, spi::access to, spi::completion<bool> done) {
  if (to == spi::access::shared) return downgrade(s, std::move(done));
  upgrade(s, std::move(done));
}

/// An answer was lost: is the node that we know of the one there is?
void desk::confirm_side(const seat_ptr& s, spi::access to, spi::completion<bool> done) {
  store_.check({s->own_path()}, [this, s, to, node = s->node, done = std::move(done)](int code) mutable {
    turn t(*this);
    if (!present(s)) return t.after([done = std::move(done)]() mutable { done(not_ours); });
    if (s->node != node) code = ZCONNECTIONLOSS;  // it has changed meanwhile: to be asked again
    if (code == ZOK) return t.after([done = std::move(done)]() mutable { done(true); });
    if (code != ZNONODE) {
      const auto why = failure_of(code, "looking for '" + s->claim.name + "'");
      return t.after([done = std::move(done), why]() mutable { done(why); });
    }
    turn_round(t, s);
    change_side(s, to, std::move(done));
  });
}

void desk::turn_round(turn& t, const seat_ptr& s) {
  const std::string other = other_side(s->node);
  unlisten(*s, s->own_path());
  rename(t, s, other, contender::parse(other)->access);
}

/// Of a reader or writer whose change of sides was never answered.
bool desk::may_have_turned(const seat& s) {
  return s.uncertain && s.claim.kind == spi::kind::shared_mutex && s.now == seat::stage::held && !s.node.empty();
}

/// The node that we know of is gone: because it was changed for the other?
void desk::look_on_other_side(const seat_ptr& s) {
  store_.exists(s->line + "/" + other_side(s->node), watching::no,
                [this, s, node = s->node](int code, const ::Stat& stat) {
                  turn t(*this);
                  if (!present(s) || s->node != node) return;
                  if (outcome_unknown(code)) return unwatched_.push_back(s);
                  if (code == ZOK && stat.ephemeralOwner == store_.id()) return turn_round(t, s);
                  bury(*s);
                  lose(t, s, loss::taken);
                });
}

void desk::rename(turn&, const seat_ptr& s, const std::string& node, spi::access to) {
  s->node = node;
  s->claim.access = to;
  s->watched = false;
  unwatched_.push_back(s);
  schedule(engine_.now());
}

/// The reader's node takes the writer's place in one transaction, with its number: writers that came meanwhile stay
/// behind it. (Curator does so since 5.5.)
void desk::downgrade(const seat_ptr& s, spi::completion<bool> done) {
  const std::string writer = s->node;
  const std::string reader = other_side(writer);
  s->node = reader;                                         // that the writer's goes is no loss
  const bool doubtful = std::exchange(s->uncertain, true);  // until we are told which of them there is
  spi::claim as_reader = s->claim;
  as_reader.access = spi::access::shared;
  store_.replace(s->line + "/" + reader, badge::of(engine_.who(), as_reader).text(), s->line + "/" + writer,
                 [this, s, writer, reader, doubtful, done = std::move(done)](int code) mutable {
                   turn t(*this);
                   if (!outcome_unknown(code)) s->uncertain = doubtful;
                   if (!present(s)) return t.after([done = std::move(done)]() mutable { done(not_ours); });
                   // It is there already: an answer was lost.
                   if (code == ZOK || code == ZNODEEXISTS) {
                     rename(t, s, reader, spi::access::shared);
                     return t.after([done = std::move(done)]() mutable { done(true); });
                   }
                   s->node = writer;
                   auto why = code == ZNONODE ? not_ours : failure_of(code, "downgrading '" + s->claim.name + "'");
                   if (code == ZNONODE) drop(s);
                   t.after([done = std::move(done), why]() mutable { done(why); });
                 });
}

/// A writer's node is put in the reader's place, and then the line is read. Whoever comes after it waits for it;
/// whoever came before is seen. If anybody is there, it goes again.
void desk::upgrade(const seat_ptr& s, spi::completion<bool> done) {
  const std::string writer = other_side(s->node);
  spi::claim as_writer = s->claim;
  as_writer.access = spi::access::exclusive;
  const auto made = std::make_shared<std::atomic<int>>(ZCONNECTIONLOSS);
  s->rising = s->line + "/" + writer;
  store_.create(s->line + "/" + writer, badge::of(engine_.who(), as_writer).text(), node_mode::ephemeral,
                [made](int code, const std::string&, const ::Stat&) { *made = code; });
  store_.children(
      s->line, watching::no,
      [this, s, writer, made, done = std::move(done)](int code, const std::vector<std::string>& names) mutable {
        on_upgrade_seen(s, writer, *made, code, names, std::move(done));
      });
}

void desk::on_upgrade_seen(const seat_ptr& s, const std::string& writer, int made, int code,
                           const std::vector<std::string>& names, spi::completion<bool> done) {
  turn t(*this);
  if (made == ZNODEEXISTS) made = ZOK;
  s->rising.clear();
  const std::string writers_path = s->line + "/" + writer;
  const int failed = made != ZOK ? made : code;
  if (failed != ZOK) {
    s->uncertain = s->uncertain || outcome_unknown(failed);
    rest({writers_path, {}, s->generation, nullptr});
    const auto why = failed == ZNONODE ? not_ours : failure_of(failed, "upgrading '" + s->claim.name + "'");
    return t.after([done = std::move(done), why]() mutable { done(why); });
  }
  const bool still_reader = present(s) && std::find(names.begin(), names.end(), s->node) != names.end();
  const bool alone = std::none_of(names.begin(), names.end(), [&](const std::string& name) {
    return contender::parse(name) && owner_in(name) != s->claim.id;
  });
  if (!still_reader || !alone) {
    return store_.remove(writers_path, -1,
                         [this, writers_path, s, still_reader, done = std::move(done)](int gone) mutable {
                           if (outcome_unknown(gone)) {
                             const turn later(*this);
                             rest({writers_path, {}, s->generation, nullptr});
                           }
                           if (!still_reader) return done(not_ours);
                           done(false);
                         });
  }
  const std::string readers_path = s->own_path();
  rename(t, s, writer, spi::access::exclusive);
  store_.remove(readers_path, -1, [this, s, done = std::move(done)](int gone) mutable {
    {
      const turn now(*this);
      // The reader's node does no harm beside the writer's, and leaves with it.
      if (outcome_unknown(gone)) s->uncertain = true;
    }
    done(true);
  });
}

}  // namespace holdfast::zookeeper
