#include "badge.hpp"
#include "desk.hpp"
#include "names.hpp"
#include "zk_error.hpp"

#include <algorithm>
#include <cstring>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

// A parent that vanishes between its making and its first child comes back; one that always does is in trouble.
constexpr unsigned most_tries = 8;
// Watches do not get lost; a look now and then costs little.
constexpr auto seldom = 15s;

std::string_view suffix(const spi::claim& c) {
  if (c.kind != spi::kind::shared_mutex) return "lock-";
  return c.access == spi::access::shared ? "__READ__" : "__WRIT__";
}

std::string leases_of(const seat& s) { return s.path + "/leases"; }

failure other_kind(const seat& s, std::string_view present) {
  return {errc::rejected, "'" + s.claim.name + "' is in use as a " + std::string(present) + "; it cannot be a " +
                              to_string(s.claim.kind) + " at the same time"};
}

failure overflown(const seat& s, const std::string& who) {
  return {errc::rejected, "'" + s.claim.name + "': the sequence numbers of its node are used up (" + who +
                              "), and its order cannot be told any more; let everybody leave it and remove " + s.line};
}

}  // namespace

std::size_t desk::hash::operator()(const spi::owner_id& id) const noexcept {
  std::size_t value = 0;
  std::memcpy(&value, id.bytes.data(), sizeof value);
  return value;
}

desk::seat_ptr desk::seat_for(const spi::entry_request& request) {
  auto& kept = seats_[request.claim.id];
  if (!kept) {
    kept = std::make_shared<seat>();
    kept->claim = request.claim;
    kept->path = path_of(store_.where().root, request.claim.name);
    kept->line = request.claim.kind == spi::kind::permits ? kept->path + "/locks" : kept->path;
  }
  return kept;
}

void desk::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  turn t(*this);
  const auto s = seat_for(request);
  if (s->now == seat::stage::held && s->generation == store_.generation())
    return t.after([done = std::move(done), grant = s->grant]() mutable { done(spi::entry_result(grant)); });
  auto way = std::make_shared<trip>();
  way->who = s;
  way->attempt = ++s->attempt;
  way->queue = request.queue;
  way->done = std::move(done);
  s->woken = false;
  go(t, way);
}

/// Sends what is needed to know where the claim stands: its node, if it has none, and right behind it the question for
/// the line. The server answers them in that order, so both cost one round trip.
void desk::go(turn& t, const trip_ptr& way) {
  seat& s = *way->who;
  if (way->tries++ > most_tries)
    return refuse(t, way, {errc::unavailable, "'" + s.claim.name + "': its node vanishes again and again"});
  if (s.generation != store_.generation()) forget_nodes(s);
  if (s.uncertain) return clear_then_go(way);
  s.now = seat::stage::outside;
  way->sent = engine_.now();
  way->creating = s.node.empty();
  s.connection = store_.connection();
  if (way->creating) send_create(way);
  // What is read is answered by a server alone; that we may go by it, a quorum must say.
  if (!way->creating && way->sent + store_.timeout() / 4 >= store_.end()) beat();
  send_lists(way);
}

void desk::send_create(const trip_ptr& way) {
  seat& s = *way->who;
  s.uncertain = true;  // until we are told
  s.watched = false;
  s.generation = store_.generation();
  store_.create(s.line + "/" + protection(s.claim.id) + std::string(suffix(s.claim)),
                badge::of(engine_.who(), s.claim).text(), node_mode::ephemeral_sequential,
                [this, way](int code, const std::string& path, const ::Stat& stat) {
                  const turn t(*this);
                  way->created = code;
                  seat& made = *way->who;
                  if (code != ZOK || made.attempt != way->attempt) return;
                  // What belongs to another session goes with it.
                  if (stat.ephemeralOwner != store_.id()) return void(way->created = ZSESSIONEXPIRED);
                  made.node = path.substr(path.rfind('/') + 1);
                  made.grant.first_token = fencing_token(static_cast<std::uint64_t>(stat.czxid));
                  made.uncertain = false;
                });
}

/// Locked: what could not be sent is answered on another thread.
session::on_names desk::note(const trip_ptr& way, trip::listing trip::* into) {
  return [this, way, into](int code, std::vector<std::string> names) {
    const turn t(*this);
    (*way).*into = {code, std::move(names)};
  };
}

/// The line first, and the leases last: whoever was before us in the line had made theirs before leaving it, and so
/// they are counted.
void desk::send_lists(const trip_ptr& way) {
  const seat& s = *way->who;
  const bool permits = s.claim.kind == spi::kind::permits;
  if (permits) {
    way->line = way->above = {ZCONNECTIONLOSS, {}};  // until we are told
    store_.children(s.line, watching::no, note(way, &trip::line));
    store_.children(s.path, watching::no, note(way, &trip::above));
  }
  auto last = note(way, permits ? &trip::leases : &trip::line);
  store_.children(permits ? leases_of(s) : s.line, watching::no,
                  [this, way, last = std::move(last)](int code, std::vector<std::string> names) mutable {
                    last(code, std::move(names));
                    on_line(way);
                  });
}

/// From the top, whatever is there already: which of them are missing is not worth a question.
void desk::make_parents(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    store_.create(path.substr(0, at), {}, node_mode::parent, [this](int code, const std::string&, const ::Stat&) {
      if (code == ZUNIMPLEMENTED) store_.use_persistent_parents();
    });
    if (at == path.npos) return;
  }
}

void desk::clear_then_go(const trip_ptr& way) {
  sweep(way->who, [this, way](const result<bool>& cleared) {
    turn t(*this);
    if (way->who->attempt != way->attempt) return again(t, way);
    if (!cleared) return t.after([way, why = cleared.error()] { way->done(why); });
    forget_nodes(*way->who);
    go(t, way);
  });
}

/// Somebody has asked again meanwhile, or left: the answer is of no use.
void desk::again(turn& t, const trip_ptr& way) {
  t.after([way] { way->done(failure{errc::unavailable, "the answer came too late"}); });
}

/// False: the way ends here, or starts again.
bool desk::was_created(turn& t, const trip_ptr& way) {
  if (!way->creating || way->created == ZOK) return true;
  seat& s = *way->who;
  if (way->created == ZNONODE || way->created == ZUNIMPLEMENTED) {
    s.uncertain = false;
    make_parents(s.line);
    if (s.claim.kind == spi::kind::permits) make_parents(leases_of(s));
    go(t, way);
    return false;
  }
  const auto why = failure_of(way->created, "entering '" + s.claim.name + "'");
  if (why.code == errc::unavailable) {
    t.after([way, why] { way->done(why); });
  } else {
    s.uncertain = false;
    refuse(t, way, why);
  }
  return false;
}

/// False: what is there cannot be told, and the way ends here. Of a list that could not be read nothing follows.
bool desk::was_read(turn& t, const trip_ptr& way) {
  for (const auto* list : {&way->line, &way->above, &way->leases}) {
    if (list->code == ZOK || list->code == ZNONODE) continue;
    const auto why = failure_of(list->code, "reading the line");
    if (!outcome_unknown(list->code)) return refuse(t, way, why), false;
    return t.after([way, why] { way->done(why); }), false;
  }
  return true;
}

void desk::on_line(const trip_ptr& way) {
  turn t(*this);
  const seat_ptr s = way->who;
  if (s->attempt != way->attempt || !present(s)) return again(t, way);
  if (!was_created(t, way) || !was_read(t, way)) return;
  const auto& names = way->line.names;
  const verdict found = way->line.code == ZOK ? judge(names, s->node) : verdict{};
  if (found.nearly_overflown && !std::exchange(warned_of_overflow_, true))
    engine_.log(log_level::warning, "'" + s->claim.name + "': the sequence numbers of " + s->line + " run out soon");
  switch (found.what) {
    case verdict::is::missing:
      forget_nodes(*s);
      return go(t, way);
    case verdict::is::overflow:
      return refuse(t, way, overflown(*s, found.who));
    case verdict::is::mixed:
      return refuse(t, way, other_kind(*s, to_string(contender::parse(found.who)->kind)));
    case verdict::is::waiting:
      return way->queue ? wait_in_line(t, way, found) : turn_away(t, way);
    case verdict::is::holding:
      break;
  }
  remove_strays(*s, s->line, names);
  if (s->claim.kind == spi::kind::permits) return look_for_room(t, way);
  if (std::find(names.begin(), names.end(), "leases") != names.end()) return rule_out_permits(way);
  grant(t, way);
}

/// Other nodes of this claim: of a try before this one, which came so late that it was not found.
void desk::remove_strays(const seat& s, const std::string& place, const std::vector<std::string>& names) {
  const std::string mark = protection(s.claim.id);
  for (const auto& name : names)
    if (name.starts_with(mark) && name != s.node) rest({place + "/" + name, {}, s.generation, nullptr});
}

/// There is, or was, a semaphore of this name: is anybody in it?
void desk::rule_out_permits(const trip_ptr& way) {
  const seat& s = *way->who;
  way->above = {ZCONNECTIONLOSS, {}};  // until we are told
  store_.children(s.path + "/locks", watching::no, note(way, &trip::above));
  auto last = note(way, &trip::leases);
  store_.children(leases_of(s), watching::no,
                  [this, way, last = std::move(last)](int code, std::vector<std::string> names) mutable {
                    last(code, std::move(names));
                    on_permits_read(way);
                  });
}

void desk::on_permits_read(const trip_ptr& way) {
  turn t(*this);
  if (way->who->attempt != way->attempt || !present(way->who)) return again(t, way);
  if (!was_read(t, way)) return;
  const auto used = [](const trip::listing& list) {
    return std::any_of(list.names.begin(), list.names.end(),
                       [](const std::string& n) { return contender::parse(n).has_value(); });
  };
  if (used(way->above) || used(way->leases))
    return refuse(t, way, other_kind(*way->who, to_string(spi::kind::permits)));
  grant(t, way);
}

/// Counted from just before the request was sent. That is the claim's time alone: the session's end, which tenure
/// knows, is the lease's too, and may come before.
spi::time_point desk::lasts_until(const spi::claim& c, spi::time_point sent) const {
  const bool renewed = c.ttl == engine_.options().ttl;
  return sent + (renewed ? std::min<std::chrono::nanoseconds>(c.ttl, store_.timeout()) : c.ttl);
}

void desk::grant(turn& t, const trip_ptr& way) {
  const seat_ptr s = way->who;
  if (s->node.empty() && s->leases.empty()) return go(t, way);  // somebody has removed it meanwhile
  if (engine_.now() >= store_.end()) {
    // It keeps its place; the next look may find the session confirmed.
    schedule(engine_.now());
    return t.after([way] { way->done(failure{errc::unavailable, "no quorum has confirmed the session lately"}); });
  }
  s->grant.expires = lasts_until(s->claim, way->sent);
  s->grant.session_ends = store_.shared_end();
  s->now = seat::stage::held;
  wait_for(*s, {});
  unwatched_.push_back(s);
  schedule(engine_.now() + 100ms);
  t.after([way, grant = s->grant] { way->done(spi::entry_result(grant)); });
}

void desk::wait_in_line(turn& t, const trip_ptr& way, const verdict& found) {
  const seat_ptr s = way->who;
  s->now = seat::stage::queued;
  wait_for(*s, s->line + "/" + found.who);
  s->next = found.next && s->claim.kind == spi::kind::mutex;
  const auto other = owner_in(found.who);
  s->kin = going_.contains(s->before) || (other && find(*other));
  watch_node(s, s->before);
  if (!s->watched) watch_own(s);
  schedule(engine_.now() + pulse());
  t.after([way, when = engine_.now() + seldom] { way->done(spi::entry_result(spi::busy{when})); });
}

/// Nothing is left behind before the caller knows.
void desk::refuse(turn& t, const trip_ptr& way, failure why) {
  const seat_ptr s = way->who;
  drop(s);
  remove_nodes(t, s, [way, why = std::move(why)](const result<bool>&) { way->done(why); });
}

void desk::turn_away(turn& t, const trip_ptr& way) {
  const seat_ptr s = way->who;
  drop(s);
  remove_nodes(t, s, [this, way](const result<bool>& gone) {
    if (!gone) return way->done(gone.error());
    way->done(spi::entry_result(spi::busy{engine_.now() + seldom}));
  });
}

}  // namespace holdfast::zookeeper
