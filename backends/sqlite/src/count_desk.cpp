#include "count_desk.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace holdfast::sqlite {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t remembered_steps = 1024;
// How long a lost message may go unnoticed; with nobody to tell anything, how often to look.
constexpr std::chrono::nanoseconds look_told = 5s;
constexpr std::chrono::nanoseconds look_alone = 20ms;

}  // namespace

const count_desk::step* count_desk::recall(const spi::owner_id& id) const {
  const auto found = recent_.find(id);
  return found == recent_.end() ? nullptr : &found->second;
}

void count_desk::committed() {
  if (!fresh_) return;
  if (recent_.insert_or_assign(fresh_->id, *fresh_).second) order_.push_back(fresh_->id);
  fresh_.reset();
  if (order_.size() <= remembered_steps) return;
  recent_.erase(order_.front());
  order_.pop_front();
}

bool count_desk::passes(const lock_row& row, std::uint32_t permits) const noexcept {
  const std::int64_t value = row.value.value_or(0);
  return row.kind == spi::kind::latch ? value == 0 : value >= std::int64_t{permits};
}

result<spi::count_reply> count_desk::change(lock_row& row, const spi::count_request& request) const {
  using op = spi::count_request::op;
  const bool latch = request.kind == spi::kind::latch;
  const std::int64_t before = row.value.value_or(0);
  std::int64_t after = before;
  spi::count_reply reply;
  switch (request.what) {
    case op::get:
      return spi::count_reply{true, before};
    case op::set_if_unset:
      reply.done = latch ? before == 0 : !row.value;
      if (reply.done) after = request.amount;
      break;
    case op::add:
      if (__builtin_add_overflow(before, request.amount, &after))
        return {errc::invalid_argument, "'" + request.name + "': the number of permits would not fit in 64 bits"};
      break;
    case op::subtract:
      after = request.amount >= before ? 0 : before - request.amount;
      break;
    case op::drain:
      after = std::min<std::int64_t>(before, 0);
      break;
  }
  // An open latch is as good as none; a semaphore that was drained before it was set stays unset.
  const bool unset = latch ? after == 0 : request.what == op::drain && !row.value;
  row.value = unset ? std::nullopt : std::optional(after);
  reply.value = request.what == op::drain ? before - after : after;
  return reply;
}

void count_desk::wake(std::string_view name, lock_row& row, const spi::owner_id& self, outbox& letters) {
  if (!row.awaited) return;
  if (row.kind == spi::kind::semaphore) {
    // Only the first; it wakes the next one when it has taken its share.
    const auto next = table_.first(name);
    if (next && next->owner != self && passes(row, next->permits))
      letters.add(next->mailbox, {message::kind::look_again, 0, next->owner, next->ticket, 0, 0});
    return;
  }
  if (!passes(row, 0)) return;
  for (const ticket_row& t : table_.tickets(name)) {
    const auto for_ever = std::numeric_limits<instant>::max();
    letters.add(t.mailbox, {message::kind::granted, 0, t.owner, t.ticket, 0, for_ever});
  }
  table_.drop_tickets(name);
  row.awaited = false;
}

result<spi::count_reply> count_desk::apply(const spi::count_request& request, instant now, outbox& letters) {
  if (const step* before = recall(request.id)) return before->reply;
  settlement s(table_, clients_, request.name, now, letters);
  s.bury_holders();
  if (s.row.in_use() && s.row.kind != request.kind) return s.save(), other_kind(request.name, request.kind, s.row.kind);
  if (request.what == spi::count_request::op::get) return change(s.row, request);
  s.row.kind = request.kind;
  auto reply = change(s.row, request);
  if (!reply) return reply;
  wake(request.name, s.row, {}, letters);
  s.save();
  fresh_ = step{request.id, 0, *reply};
  return reply;
}

entry_outcome count_desk::wait_in_line(std::string_view name, const ticket_row& mine, instant now) {
  entry_outcome outcome;
  outcome.ticket = mine.ticket;
  if (const auto ahead = mine.ticket == 0 ? std::nullopt : table_.before(name, mine.ticket)) {
    if (auto neighbour = clients_.neighbour(ahead->session)) outcome.ahead.push_back(std::move(neighbour));
  }
  outcome.look_again = to_time(expiry(now, mine.mailbox == 0 ? look_alone : look_told));
  return outcome;
}

bool count_desk::may_pass(std::string_view name, const lock_row& row, const std::optional<ticket_row>& mine, line how) {
  if (row.kind == spi::kind::latch) return true;
  if (mine) return !table_.before(name, mine->ticket);
  if (!row.awaited) return true;
  if (how == line::joins) return false;
  // Who only tries takes what the first in line cannot use yet: permits that are there and refused would puzzle
  // anybody.
  const auto head = table_.first(name);
  return !head || !passes(row, head->permits);
}

result<entry_outcome> count_desk::enter(const spi::entry_request& request, const place& where, instant now,
                                        outbox& letters) {
  const spi::claim& c = request.claim;
  if (recall(c.id) != nullptr) return entry_outcome{spi::granted{}, 0, {}, {}};
  settlement s(table_, clients_, c.name, now, letters);
  s.for_claim(c.id);
  s.bury_holders();
  if (s.row.in_use() && s.row.kind != c.kind) return s.save(), other_kind(c.name, c.kind, s.row.kind);
  s.row.kind = c.kind;
  auto mine = where.ticket ? table_.ticket(c.name, *where.ticket) : std::nullopt;
  if (mine && mine->owner != c.id) mine.reset();
  const auto ahead = s.bury_waiters_before(mine ? mine->ticket : 0);
  if (may_pass(c.name, s.row, mine, request.queue ? line::joins : line::passes_by) && passes(s.row, c.permits)) {
    if (mine) table_.drop_ticket(c.name, mine->ticket);
    if (c.kind == spi::kind::semaphore) {
      if (c.permits != 0) s.row.value = s.row.value.value_or(0) - c.permits;
      fresh_ = step{c.id, c.permits, {}};
      wake(c.name, s.row, c.id, letters);
    }
    s.save();
    return entry_outcome{spi::granted{}, 0, {}, {}};
  }
  if (!mine && request.queue) {
    clients_.enrol();
    s.row.awaited = true;
    mine = ticket_row{
        lock_table::next_ticket(ahead, now), c.id, c.access, c.permits, 0, 0, now, clients_.self(), where.mailbox()};
    table_.add_ticket(c.name, *mine);
  } else if (mine && mine->mailbox != where.mailbox()) {
    table_.move_ticket(c.name, mine->ticket, mine->mailbox = where.mailbox());
  }
  s.save();
  return wait_in_line(c.name, mine.value_or(ticket_row{}), now);
}

bool count_desk::leave(const spi::claim& ours, std::optional<std::int64_t> ticket, instant now, outbox& letters) {
  settlement s(table_, clients_, ours.name, now, letters);
  const auto mine = ticket ? table_.ticket(ours.name, *ticket) : std::nullopt;
  if (mine && mine->owner == ours.id) {
    s.withdraw(*mine);
    s.save();
    return true;
  }
  // Whoever leaves after a grant did not want it any more: a wait that was cancelled at that moment.
  const auto taken = recent_.find(ours.id);
  if (taken == recent_.end() || taken->second.taken == 0 || s.row.kind != spi::kind::semaphore) return false;
  s.row.value = s.row.value.value_or(0) + taken->second.taken;
  wake(ours.name, s.row, ours.id, letters);
  s.save();
  fresh_ = step{ours.id, 0, taken->second.reply};
  return true;
}

}  // namespace holdfast::sqlite
