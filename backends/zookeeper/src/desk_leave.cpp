#include "desk.hpp"
#include "zk_error.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

// So many are looked at when they are renewed; of more, that the session lives is enough: we hear when one goes.
constexpr std::size_t looked_at = 32;

}  // namespace

desk::seat_ptr desk::find(const spi::owner_id& id) const {
  const auto found = seats_.find(id);
  return found == seats_.end() ? nullptr : found->second;
}

bool desk::owns(const seat& s, const std::string& path) {
  return (!s.node.empty() && s.own_path() == path) ||
         std::find(s.leases.begin(), s.leases.end(), path) != s.leases.end();
}

void desk::drop(const seat_ptr& s) {
  if (!present(s)) return;
  seats_.erase(s->claim.id);
  ++s->attempt;  // answers under way are too late
  std::vector<std::string> paths = s->leases;
  if (!s->node.empty()) paths.push_back(s->own_path());
  if (!s->before.empty()) paths.push_back(s->before);
  for (const auto& path : paths) unlisten(*s, path);
}

void desk::forget_nodes(seat& s) {
  s.node.clear();
  s.leases.clear();
  s.uncertain = false;
  s.watched = false;
  if (s.now == seat::stage::held) s.now = seat::stage::outside;
}

void desk::leave(const spi::claim& ours, spi::completion<bool> done) {
  turn t(*this);
  const auto s = find(ours.id);
  if (!s) return t.after([done = std::move(done)]() mutable { done(false); });
  drop(s);
  wake(t, *s, spi::look_again{});
  remove_nodes(t, s, std::move(done));
}

/// Of a claim that nobody can find here any more. What cannot be removed now is removed when the connection is back.
void desk::remove_nodes(turn& t, const seat_ptr& s, spi::completion<bool> done) {
  if (s->generation != store_.generation()) return t.after([done = std::move(done)]() mutable { done(false); });
  if (s->uncertain) {
    return sweep(s, [this, s, done = std::move(done)](result<bool> swept) mutable {
      if (!swept) {
        const turn later(*this);
        bury(*s);
      }
      done(std::move(swept));
    });
  }
  std::vector<std::string> paths = s->leases;
  if (!s->node.empty()) paths.push_back(s->own_path());
  if (paths.empty()) return t.after([done = std::move(done)]() mutable { done(false); });
  struct removal {
    spi::completion<bool> done;
    std::atomic<std::size_t> left;
    std::atomic<bool> any = false;
    std::atomic<int> failed = ZOK;
    void note(int code) {
      if (code == ZOK) any = true;
      if (code != ZOK && code != ZNONODE) failed = code;
      if (--left != 0) return;
      if (failed != ZOK) return done(failure_of(failed, "leaving"));
      done(any.load());
    }
  };
  const auto all = std::make_shared<removal>();
  all->done = std::move(done);
  all->left = paths.size();
  for (const auto& path : paths) {
    going_.insert(path);
    store_.remove(path, -1, [this, all, path, generation = s->generation](int code) {
      turn later(*this);
      going_.erase(path);
      if (!outcome_unknown(code) || code == ZCLOSING) return later.after([all, code] { all->note(code); });
      // When the connection is back. That it is gone by then is our doing: the answer was lost.
      rest({path, {}, generation, [all](int then) { all->note(then == ZNONODE ? ZOK : then); }});
    });
  }
}

/// Removes every node of the claim, whatever it is called. True: there was one.
void desk::sweep(const seat_ptr& s, spi::completion<bool> done) {
  struct sweeping {
    spi::completion<bool> done;
    std::atomic<std::size_t> left = 0;
    std::atomic<bool> any = false;
    std::atomic<int> failed = ZOK;
    void note(int code) {
      if (code == ZOK) any = true;
      if (code != ZOK && code != ZNONODE) failed = code;
      if (--left != 0) return;
      if (failed != ZOK) return done(failure_of(failed, "looking for what was left"));
      done(any.load());
    }
  };
  const auto all = std::make_shared<sweeping>();
  all->done = std::move(done);
  std::vector<std::string> places{s->line};
  if (s->claim.kind == spi::kind::permits) places.push_back(s->path + "/leases");
  all->left = places.size();
  for (const auto& place : places) {
    list_agreed(place,
                [this, all, place, mark = protection(s->claim.id)](int code, const std::vector<std::string>& names) {
                  for (const auto& name : names) {
                    if (!name.starts_with(mark)) continue;
                    ++all->left;
                    store_.remove(place + "/" + name, -1, [all](int removed) { all->note(removed); });
                  }
                  // That a place was read is no find.
                  all->note(code == ZOK ? ZNONODE : code);
                });
  }
}

/// A server may not have heard yet of what was agreed to before we came to it: it has when it answers to what is agreed
/// to now.
void desk::list_agreed(const std::string& place, session::on_names done) {
  const auto agreement = std::make_shared<std::atomic<int>>(ZCONNECTIONLOSS);
  store_.check({"/"}, [agreement](int code) { *agreement = agreed(code) ? ZOK : code; });
  store_.children(place, watching::no,
                  [agreement, done = std::move(done)](int code, std::vector<std::string> names) mutable {
                    if (*agreement != ZOK) return done(*agreement, {});
                    done(code, std::move(names));
                  });
}

void desk::bury(const seat& s) {
  rest({s.line, s.claim.id, s.generation, nullptr});
  if (s.claim.kind == spi::kind::permits) rest({s.path + "/leases", s.claim.id, s.generation, nullptr});
}

/// It goes when the connection is back, or soon if that is back already.
void desk::rest(grave g) {
  graves_.push_back(std::move(g));
  schedule(engine_.now() + 50ms);
}

/// A node that was to go may have been taken into use again.
bool desk::in_use(const std::string& path) const {
  const auto id = owner_in(std::string_view(path).substr(path.rfind('/') + 1));
  const auto s = id ? find(*id) : nullptr;
  return s && (s->rising == path || owns(*s, path));
}

void desk::dig(const grave& g) {
  if (g.id == spi::owner_id{} && in_use(g.path)) return;
  const auto removed = [this, g](int code) {
    if (!outcome_unknown(code) || code == ZCLOSING) {
      if (g.told) g.told(code);
      return;
    }
    const turn t(*this);
    rest(g);
  };
  if (g.id == spi::owner_id{}) return store_.remove(g.path, -1, removed);
  list_agreed(g.path, [this, g, removed](int code, const std::vector<std::string>& names) {
    if (outcome_unknown(code)) return removed(code);
    const turn t(*this);
    // The claim has come back, and a node of it is in use, or may be once its making is answered.
    const auto s = find(g.id);
    if (s && s->uncertain && s->node.empty()) return rest(g);
    for (const auto& name : names)
      if (name.starts_with(protection(g.id)) && !in_use(g.path + "/" + name))
        store_.remove(g.path + "/" + name, -1, removed);
  });
}

/// What it takes to renew some claims.
struct desk::renewing {
  std::vector<spi::renewal_outcome> outcomes;
  spi::completion<std::vector<spi::renewal_outcome>> done;
  std::atomic<std::size_t> left{1};
  void one_done() {
    if (--left == 0) done(std::move(outcomes));
  }
};

/// One transaction for all; if that fails, one for each, to see which it was.
void desk::renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) {
  const auto all = std::make_shared<renewing>();
  all->outcomes.resize(held.size());
  all->done = std::move(done);
  turn t(*this);
  const auto sent = engine_.now();
  std::vector<std::string> paths;
  std::vector<std::pair<std::size_t, seat_ptr>> here;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto s = find(held[i].id);
    const bool ours = s && s->now == seat::stage::held && s->generation == store_.generation();
    all->outcomes[i] = {ours ? spi::renewal::unknown : spi::renewal::lost, lasts_until(held[i], sent)};
    if (!ours) continue;
    here.emplace_back(i, s);
    if (here.size() <= looked_at) paths.push_back(s->leases.empty() ? s->own_path() : s->leases.front());
  }
  if (here.empty()) return t.after([all] { all->one_done(); });
  store_.check(paths, [this, all, here = std::move(here)](int code) {
    turn then(*this);
    if (code != ZOK && !outcome_unknown(code)) return renew_each(then, all, here);
    for (const auto& [i, s] : here)
      if (code == ZOK) all->outcomes[i].what = present(s) ? spi::renewal::renewed : spi::renewal::lost;
    then.after([all] { all->one_done(); });
  });
}

void desk::renew_each(turn& t, const std::shared_ptr<renewing>& all,
                      const std::vector<std::pair<std::size_t, seat_ptr>>& here) {
  all->left += here.size();
  for (const auto& [place, sitting] : here) {
    const std::string path = sitting->leases.empty() ? sitting->own_path() : sitting->leases.front();
    store_.check({path}, [this, all, i = place, s = sitting, path](int code) {
      if (!outcome_unknown(code)) {
        const turn now(*this);
        const bool ours = code == ZOK && present(s);
        if (code == ZNONODE && present(s) && may_have_turned(*s)) {
          // The next renewal tells.
          if (owns(*s, path)) look_on_other_side(s);
        } else {
          all->outcomes[i].what = ours ? spi::renewal::renewed : spi::renewal::lost;
          if (!ours && (s->uncertain || s->leases.size() > 1)) bury(*s);
          if (!ours) drop(s);
        }
      }
      all->one_done();
    });
  }
  t.after([all] { all->one_done(); });
}

}  // namespace holdfast::zookeeper
