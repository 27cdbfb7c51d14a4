#include "lock_desk.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace holdfast::sqlite {

using namespace std::chrono_literals;

namespace {

// How long lost news may go unnoticed. Behind a claim of our own client less can be lost; behind one whose death nobody
// tells, more.
constexpr std::chrono::nanoseconds look_own = 60s;
constexpr std::chrono::nanoseconds look_watched = 5s;
constexpr std::chrono::nanoseconds look_unwatched = 1s;
// Without a mailbox nobody tells anything.
constexpr std::chrono::nanoseconds look_alone = 20ms;
// Several times what it takes to put a thread to sleep and to wake it.
constexpr std::chrono::nanoseconds quick_hold = 500us;

}  // namespace

failure other_kind(const std::string& name, spi::kind wanted, spi::kind present) {
  return {errc::rejected, "'" + name + "' is in use as a " + to_string(present) + "; it cannot be a " +
                              to_string(wanted) + " at the same time"};
}

std::optional<failure> lock_desk::clash(const lock_row& row, const spi::claim& wanted) const {
  const bool counted = wanted.kind == spi::kind::permits;
  if (counted && wanted.permits > wanted.limit) {
    return failure{errc::invalid_argument, "'" + wanted.name + "': " + std::to_string(wanted.permits) +
                                               " permits asked for where there are " + std::to_string(wanted.limit)};
  }
  if (!row.in_use()) return std::nullopt;
  if (row.kind != wanted.kind) return other_kind(wanted.name, wanted.kind, row.kind);
  if (counted && row.capacity != std::int64_t{wanted.limit}) {
    return failure{errc::rejected, "'" + wanted.name + "' is in use with " + std::to_string(row.capacity) +
                                       " permits; it cannot have " + std::to_string(wanted.limit) +
                                       " at the same time"};
  }
  return std::nullopt;
}

entry_outcome lock_desk::wait_behind(std::string_view name, const lock_row& row, const ticket_row& mine,
                                     const std::optional<ticket_row>& ahead, instant now) {
  entry_outcome outcome;
  outcome.ticket = mine.ticket;
  instant look = std::numeric_limits<instant>::max();
  const auto behind = [&](session_id who, instant over) {
    auto neighbour = clients_.neighbour(who);
    const auto most = who == clients_.self() ? look_own : neighbour ? look_watched : look_unwatched;
    look = std::min({look, over, expiry(now, most)});
    if (neighbour) outcome.ahead.push_back(std::move(neighbour));
  };
  // Behind another waiter: that one will hold for its ttl at least, counted from a time that has not come yet.
  if (ahead) {
    behind(ahead->session, expiry(now, std::chrono::nanoseconds(ahead->ttl)));
  } else {
    if (row.owner) behind(row.session, row.expires);
    if (row.shares != 0) {
      for (const hold_row& h : table_.holds(name)) behind(h.session, h.expires);
    }
  }
  if (mine.ticket != 0 && mine.mailbox == 0) look = std::min(look, expiry(now, look_alone));
  outcome.look_again = to_time(std::min(look, expiry(now, look_own)));
  return outcome;
}

result<entry_outcome> lock_desk::enter(const spi::entry_request& request, const place& where, instant now,
                                       outbox& letters) {
  const spi::claim& c = request.claim;
  settlement s(table_, clients_, c.name, now, letters);
  s.for_claim(c.id);
  const bool opened = s.bury_holders();
  if (auto had = s.grant_of(c.id)) return s.save(), entry_outcome{had, 0, {}, {}};
  auto mine = where.ticket ? table_.ticket(c.name, *where.ticket) : std::nullopt;
  if (mine && mine->owner != c.id) mine.reset();
  auto ahead = s.bury_waiters_before(mine ? mine->ticket : 0);
  if (opened || (mine && !ahead)) {
    s.admit(settlement::heads::checked);
    ahead = s.bury_waiters_before(mine ? mine->ticket : 0);
  }
  if (s.own_grant) return s.save(), entry_outcome{s.own_grant, 0, {}, {}};
  if (!mine) {
    if (auto refused = clash(s.row, c)) return s.save(), *refused;
    s.row.kind = c.kind;
    s.row.capacity = c.limit;
    ticket_row wish{0, c.id, c.access, c.permits, request.tokens, c.ttl.count(), now, clients_.self(), 0};
    if (!s.row.awaited && s.fits(c.access, c.permits)) {
      clients_.enrol();
      const spi::granted grant = s.grant(wish);
      return s.save(), entry_outcome{grant, 0, {}, {}};
    }
    if (!request.queue) return s.save(), wait_behind(c.name, s.row, {}, {}, now);
    clients_.enrol();
    wish.mailbox = where.mailbox();
    wish.ticket = lock_table::next_ticket(ahead, now);
    s.row.awaited = true;
    table_.add_ticket(c.name, wish);
    mine = wish;
  } else if (const mailbox_id to = where.mailbox(); mine->mailbox != to) {
    table_.move_ticket(c.name, mine->ticket, mine->mailbox = to);
  }
  s.save();
  return wait_behind(c.name, s.row, *mine, ahead, now);
}

bool lock_desk::holders_stay(std::string_view name, const lock_row& row, instant now) {
  if (row.owner && (row.expires <= now || clients_.dead(row.session))) return false;
  if (row.shares == 0) return true;
  const auto all = table_.holds(name);
  return std::none_of(all.begin(), all.end(),
                      [&](const hold_row& h) { return h.expires <= now || clients_.dead(h.session); });
}

std::optional<entry_outcome> lock_desk::glance(const spi::entry_request& request, const place& where, instant now) {
  const spi::claim& c = request.claim;
  const auto row = table_.find(c.name);
  if (!row || row->kind != c.kind) return std::nullopt;
  if (!where.ticket) {
    // Somebody who does not queue: busy if the holders stay. An own grant is for enter to find.
    if (request.queue || !(row->owner || row->shares != 0) || clash(*row, c)) return std::nullopt;
    const bool full = row->awaited || row->kind == spi::kind::mutex || row->owner.has_value();
    if (!full || row->owner == c.id || !holders_stay(c.name, *row, now)) return std::nullopt;
    if (row->shares != 0 && table_.hold(c.name, c.id)) return std::nullopt;
    return wait_behind(c.name, *row, {}, {}, now);
  }
  const auto mine = table_.ticket(c.name, *where.ticket);
  if (!mine || mine->owner != c.id || mine->mailbox != where.mailbox()) return std::nullopt;
  // Only the first in line has the holders to look after; the others have the one before them.
  const auto ahead = table_.before(c.name, mine->ticket);
  if (ahead && clients_.dead(ahead->session)) return std::nullopt;
  if (!ahead && (!(row->owner || row->shares != 0) || !holders_stay(c.name, *row, now))) return std::nullopt;
  return wait_behind(c.name, *row, *mine, ahead, now);
}

std::optional<entry_outcome> lock_desk::join(const spi::entry_request& request, mailbox_id mailbox, instant now) {
  const spi::claim& c = request.claim;
  if (!clients_.enrolled()) return std::nullopt;
  ticket_row mine{0, c.id, c.access, c.permits, request.tokens, c.ttl.count(), now, clients_.self(), mailbox};
  const auto joined = table_.join_line(c.name, mine, c.kind, c.limit, now);
  if (!joined) return std::nullopt;
  mine.ticket = joined->ticket;
  return wait_behind(c.name, {}, mine, joined->ahead, now);
}

bool lock_desk::hand_over(const spi::claim& ours, instant now, outbox& letters) {
  const auto line = table_.first_two(ours.name);
  if (line.empty()) return table_.leave_free(ours.name, ours.id);
  const ticket_row& next = line.front();
  const instant end = expiry(now, std::chrono::nanoseconds(next.ttl));
  const auto passed = table_.pass_on(ours.name, ours.id, next, now, end);
  if (!passed) return false;  // not ours to hand over
  table_.drop_ticket(ours.name, next.ticket);
  const auto token = static_cast<std::uint64_t>(passed->token);
  letters.add(next.mailbox, {message::kind::granted, next.tokens, next.owner, next.ticket, token, end});
  // Who held it for a moment hands over to one who will too: the one after him had better be awake by then.
  const bool quick = now - passed->held_since < std::chrono::nanoseconds(quick_hold).count();
  if (quick && line.size() == 2 && line.back().waits_itself())
    letters.add(line.back().mailbox, {message::kind::next, 0, line.back().owner, line.back().ticket, 0, 0});
  return true;
}

bool lock_desk::leave(const spi::claim& ours, std::optional<std::int64_t> ticket, instant now, outbox& letters) {
  // All who wait for a mutex want it alone: that one is handed over without looking at anything else.
  if (ours.kind == spi::kind::mutex && !ticket && hand_over(ours, now, letters)) return true;
  settlement s(table_, clients_, ours.name, now, letters);
  bool left = s.end(ours.id);
  if (!left && ticket) {
    const auto mine = table_.ticket(ours.name, *ticket);
    left = mine && mine->owner == ours.id;
    if (left) s.withdraw(*mine);
  }
  s.admit(settlement::heads::trusted);
  s.save();
  return left;
}

spi::renewal_outcome lock_desk::renew(const spi::claim& held, instant now) {
  const instant end = expiry(now, held.ttl);
  const bool alone =
      held.kind == spi::kind::mutex || (held.kind == spi::kind::shared_mutex && held.access == spi::access::exclusive);
  // The likely table first: a claim that was converted may be in the other one.
  const bool there =
      alone ? table_.extend(held.name, held.id, now, end) || table_.extend_hold(held.name, held.id, now, end)
            : table_.extend_hold(held.name, held.id, now, end) || table_.extend(held.name, held.id, now, end);
  if (!there) return {spi::renewal::lost, {}};
  return {spi::renewal::renewed, to_time(end)};
}

result<bool> lock_desk::convert(const spi::claim& held, spi::access to, instant now, outbox& letters) {
  settlement s(table_, clients_, held.name, now, letters);
  s.bury_holders();
  const failure unknown{errc::lost, "the store does not know this lease any more"};
  if (to == spi::access::shared) {
    if (s.row.owner != held.id) {
      s.save();
      return s.grant_of(held.id) ? result<bool>(true) : unknown;
    }
    table_.add_hold(held.name, {held.id, s.row.token, s.row.tokens, 1, s.row.expires, s.row.since, s.row.session});
    s.row.owner.reset();
    s.row.shares = 1;
    s.admit(settlement::heads::checked);
    s.save();
    return true;
  }
  if (s.row.owner == held.id) return true;
  const auto mine = table_.hold(held.name, held.id);
  if (!mine) return s.save(), unknown;
  // "Nobody is ahead": whoever is in line waits for this very reader to go.
  s.bury_all_waiters();
  const bool possible = s.row.shares == 1 && !s.row.awaited;
  if (possible) {
    table_.drop_hold(held.name, held.id);
    s.row.shares = 0;
    s.row.owner = held.id;
    s.row.token = mine->token;
    s.row.tokens = mine->tokens;
    s.row.expires = mine->expires;
    s.row.since = mine->since;
    s.row.session = mine->session;
  }
  s.save();
  return possible;
}

result<bool> lock_desk::raise(const spi::claim& held, fencing_token floor, instant now) {
  if (floor.value() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2))
    return {errc::invalid_argument, "token " + std::to_string(floor.value()) + " is too large for this store"};
  outbox nobody;
  settlement s(table_, clients_, held.name, now, nobody);
  const auto grant = s.grant_of(held.id);
  if (!grant || grant->expires <= to_time(now)) return {errc::lost, "the store does not know this lease any more"};
  s.row.fence = std::max(s.row.fence, static_cast<std::int64_t>(floor.value()));
  s.save();
  return true;
}

bool lock_desk::evict(const std::string& name, instant now, outbox& letters) {
  if (!table_.find(name)) return false;
  settlement s(table_, clients_, name, now, letters);
  s.bury_holders();
  const auto take = [&](const spi::owner_id& id, session_id whose) {
    letters.add(whose, {message::kind::evicted, 0, id, 0, 0, 0});
  };
  const bool held = s.row.owner || s.row.shares != 0;
  if (s.row.owner) take(*s.row.owner, s.row.session);
  if (s.row.shares != 0) {
    for (const hold_row& h : table_.holds(name)) take(h.owner, h.session);
    table_.drop_holds(name);
  }
  s.row.owner.reset();
  s.row.shares = 0;
  s.admit(settlement::heads::checked);
  s.save();
  return held;
}

void lock_desk::tidy(const std::string& name, instant now, outbox& letters) {
  settlement s(table_, clients_, name, now, letters);
  s.bury_holders();
  s.bury_all_waiters();
  if (s.row.kind != spi::kind::semaphore && s.row.kind != spi::kind::latch) s.admit(settlement::heads::checked);
  s.save();
}

bool lock_desk::tidy_enough(const std::string& name, instant now) {
  const auto row = table_.find(name);
  if (!row) return true;
  if (!holders_stay(name, *row, now)) return false;
  if (!row->awaited) return true;
  const auto all = table_.tickets(name);
  return std::none_of(all.begin(), all.end(), [&](const ticket_row& t) { return clients_.dead(t.session); });
}

}  // namespace holdfast::sqlite
