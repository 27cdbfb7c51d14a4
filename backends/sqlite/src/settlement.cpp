#include "settlement.hpp"

#include <algorithm>

namespace holdfast::sqlite {

settlement::settlement(lock_table& table, sessions& clients, std::string_view name, instant now, outbox& letters)
    : table_(table), clients_(clients), name_(name), now_(now), letters_(letters) {
  row = saved_ = table_.find_or_new(name_);
}

bool settlement::bury_holders() {
  bool any = false;
  if (row.owner && (row.expires <= now_ || clients_.dead(row.session))) {
    row.owner.reset();
    any = true;
  }
  if (row.shares == 0) return any;
  for (const hold_row& h : table_.holds(name_)) {
    if (h.expires > now_ && !clients_.dead(h.session)) continue;
    table_.drop_hold(name_, h.owner);
    row.shares -= h.permits;
    any = true;
  }
  return any;
}

std::optional<ticket_row> settlement::bury_waiters_before(std::int64_t ticket) {
  while (row.awaited) {
    auto ahead = ticket == 0 ? table_.last(name_) : table_.before(name_, ticket);
    if (!ahead && ticket == 0) row.awaited = false;
    if (!ahead || !clients_.dead(ahead->session)) return ahead;
    table_.drop_ticket(name_, ahead->ticket);
  }
  return std::nullopt;
}

void settlement::bury_all_waiters() {
  if (!row.awaited) return;
  row.awaited = false;
  for (const ticket_row& t : table_.tickets(name_)) {
    if (clients_.dead(t.session))
      withdraw(t);
    else
      row.awaited = true;
  }
}

bool settlement::fits(spi::access access, std::uint32_t permits) const noexcept {
  if (row.kind == spi::kind::permits) return row.shares + permits <= row.capacity;
  if (row.owner) return false;
  return row.shares == 0 || (row.kind == spi::kind::shared_mutex && access == spi::access::shared);
}

spi::granted settlement::grant(const ticket_row& to) {
  const instant end = expiry(now_, std::chrono::nanoseconds(to.ttl));
  const std::int64_t token = row.fence + 1;
  row.fence += to.tokens;
  const bool alone = row.kind != spi::kind::permits && to.access == spi::access::exclusive;
  if (alone) {
    row.owner = to.owner;
    row.token = token;
    row.tokens = to.tokens;
    row.expires = end;
    row.since = now_;
    row.session = to.session;
  } else {
    table_.add_hold(name_, {to.owner, token, to.tokens, to.permits, end, now_, to.session});
    row.shares += to.permits;
  }
  return {fencing_token(static_cast<std::uint64_t>(token)), to.tokens, to_time(end)};
}

std::optional<spi::granted> settlement::grant_of(const spi::owner_id& id) {
  if (row.owner == id) return spi::granted{static_cast<std::uint64_t>(row.token), row.tokens, to_time(row.expires)};
  if (row.shares == 0) return std::nullopt;
  const auto held = table_.hold(name_, id);
  if (!held) return std::nullopt;
  return spi::granted{static_cast<std::uint64_t>(held->token), held->tokens, to_time(held->expires)};
}

void settlement::tell(const ticket_row& who, message::kind what, const spi::granted& g) {
  letters_.add(who.mailbox,
               {what, g.tokens, who.owner, who.ticket, g.first_token.value(), g.expires.time_since_epoch().count()});
}

void settlement::admit(heads how) {
  bool joined = false;  // somebody came in who is not alone
  // With an exclusive holder nobody fits, and who is first in line watched that very one when he stood before him.
  while (row.awaited && !row.owner) {
    const auto next = table_.first(name_);
    if (!next) {
      row.awaited = false;
      return;
    }
    if (how == heads::checked && clients_.dead(next->session)) {
      table_.drop_ticket(name_, next->ticket);
      continue;
    }
    if (!fits(next->access, next->permits)) {
      // He watched the one before him; now that one is inside among others, and any of them may die.
      if (joined && next->owner != self_) tell(*next, message::kind::look_again, {});
      return;
    }
    table_.drop_ticket(name_, next->ticket);
    const spi::granted g = grant(*next);
    joined = joined || row.shares != 0;
    if (next->owner == self_)
      own_grant = g;
    else
      tell(*next, message::kind::granted, g);
  }
}

void settlement::withdraw(const ticket_row& who) {
  const auto behind = table_.after(name_, who.ticket);
  const auto ahead = table_.before(name_, who.ticket);
  table_.drop_ticket(name_, who.ticket);
  if (!behind || behind->owner == self_) return;
  // Nothing changes for him if the one he stands behind now is of the same client, and no sooner over.
  if (ahead && ahead->session == who.session && ahead->ttl >= who.ttl) return;
  tell(*behind, message::kind::look_again, {});
}

bool settlement::end(const spi::owner_id& id) {
  if (row.owner == id) {
    row.owner.reset();
    return true;
  }
  if (row.shares == 0) return false;
  const auto held = table_.hold(name_, id);
  if (!held) return false;
  table_.drop_hold(name_, id);
  row.shares -= held->permits;
  return true;
}

void settlement::save() {
  if (row != saved_) table_.save(name_, row);
  saved_ = row;
}

}  // namespace holdfast::sqlite
