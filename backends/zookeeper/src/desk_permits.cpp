#include "badge.hpp"
#include "desk.hpp"
#include "zk_error.hpp"

#include <algorithm>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

// As Curator's InterProcessSemaphoreV2: whoever is first in the line of `locks` may add to `leases`, and nobody else.
// So the number of leases only falls while we look at it.

namespace {

constexpr auto seldom = 15s;

std::string leases_of(const seat& s) { return s.path + "/leases"; }

}  // namespace

void desk::look_for_room(turn& t, const trip_ptr& way) {
  const seat& s = *way->who;
  for (const auto& name : way->above.names) {
    const auto other = contender::parse(name);
    if (!other) continue;
    return refuse(t, way,
                  {errc::rejected, "'" + s.claim.name + "' is in use as a " + std::string(to_string(other->kind)) +
                                       "; it cannot be a permit_semaphore at the same time"});
  }
  remove_strays(s, leases_of(s), way->leases.names);
  const auto line = line_of(way->leases.names, family::lease);
  if (line.empty()) return take_leases(t, way);
  check_limit(way, leases_of(s) + "/" + line.front().name);
}

/// Everybody must count to the same number: ours say to which.
void desk::check_limit(const trip_ptr& way, const std::string& lease) {
  store_.get(lease, watching::no, [this, way](int code, const std::string& value, const ::Stat&) {
    turn t(*this);
    const seat& s = *way->who;
    if (s.attempt != way->attempt || !present(way->who)) return again(t, way);
    if (outcome_unknown(code)) return t.after([way, code] { way->done(failure_of(code, "reading a lease")); });
    const auto limit = code == ZOK ? badge::read(value).limit : 0;
    if (limit != 0 && limit != s.claim.limit)
      return refuse(
          t, way,
          {errc::rejected, "'" + s.claim.name + "' is in use with " + std::to_string(limit) +
                               " permits; it cannot have " + std::to_string(s.claim.limit) + " at the same time"});
    with_room(t, way);
  });
}

void desk::with_room(turn& t, const trip_ptr& way) {
  const seat_ptr s = way->who;
  const auto fits = [s](const std::vector<std::string>& leases) {
    return line_of(leases, family::lease).size() + s->claim.permits <= s->claim.limit;
  };
  if (fits(way->leases.names)) return take_leases(t, way);
  if (!way->queue) return turn_away(t, way);
  // Read again with a watch: one may have gone since.
  store_.children(leases_of(*s), watching::yes, [this, way, s, fits](int code, const std::vector<std::string>& names) {
    turn then(*this);
    if (s->attempt != way->attempt || !present(s)) return again(then, way);
    if (outcome_unknown(code)) return then.after([way, code] { way->done(failure_of(code, "reading the leases")); });
    if (code != ZOK && code != ZNONODE) return refuse(then, way, failure_of(code, "reading the leases"));
    if (fits(names)) return take_leases(then, way);
    s->now = seat::stage::queued;
    wait_for(*s, leases_of(*s));
    s->next = false;
    listen_to(s, s->before);
    if (!s->watched) watch_own(s);
    schedule(engine_.now() + pulse());
    then.after([way, when = engine_.now() + seldom] { way->done(spi::entry_result(spi::busy{when})); });
  });
}

/// One node per permit, and right behind them the guard's is given back: one round trip.
void desk::take_leases(turn& t, const trip_ptr& way) {
  const seat_ptr s = way->who;
  if (s->node.empty()) return go(t, way);  // somebody has removed it meanwhile
  struct taking {
    std::vector<int> codes;
    std::vector<std::string> paths;
    std::int64_t token = 0;
  };
  const auto all = std::make_shared<taking>();
  s->uncertain = true;
  way->sent = engine_.now();
  if (way->leases.code == ZNONODE) make_parents(leases_of(*s));
  for (std::uint32_t i = 0; i < s->claim.permits; ++i) {
    store_.create(leases_of(*s) + "/" + protection(s->claim.id) + "lease-", badge::of(engine_.who(), s->claim).text(),
                  node_mode::ephemeral_sequential, [this, all](int code, const std::string& path, const ::Stat& stat) {
                    const turn then(*this);
                    const bool ours = code != ZOK || stat.ephemeralOwner == store_.id();
                    all->codes.push_back(ours ? code : ZSESSIONEXPIRED);
                    all->paths.push_back(path);
                    if (all->token == 0) all->token = stat.czxid;
                  });
  }
  store_.remove(s->own_path(), -1, [this, way, all](int code) {
    taking seen;
    {
      const turn then(*this);
      // That it is gone already means that we were not the only ones who might add to the leases.
      all->codes.push_back(code);
      seen = *all;
    }
    on_leased(way, seen.codes, std::move(seen.paths), seen.token);
  });
}

void desk::on_leased(const trip_ptr& way, const std::vector<int>& codes, std::vector<std::string> paths,
                     std::int64_t token) {
  turn t(*this);
  const seat_ptr s = way->who;
  if (s->attempt != way->attempt || !present(s)) return again(t, way);
  const auto bad = std::find_if(codes.begin(), codes.end(), [](int code) { return code != ZOK; });
  if (bad == codes.end()) {
    s->uncertain = false;
    s->leases = std::move(paths);
    s->node.clear();
    s->watched = false;
    s->grant.first_token = fencing_token(static_cast<std::uint64_t>(token));
    return grant(t, way);
  }
  // What is there of ours is taken back by the next try, or when the claim leaves.
  s->node.clear();
  if (*bad == ZNONODE) {
    make_parents(leases_of(*s));
    return go(t, way);
  }
  const auto why = failure_of(*bad, "taking permits of '" + s->claim.name + "'");
  if (why.code == errc::unavailable) return t.after([way, why] { way->done(why); });
  refuse(t, way, why);
}

}  // namespace holdfast::zookeeper
