#include "lock_table.hpp"

#include "lock_sql.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::sqlite {

namespace {

hold_row read_hold(const rows& r) {
  return {r.id(0), r.integer(1), r.small(2), r.small(3), r.integer(4), r.integer(5), r.integer(6)};
}

ticket_row read_ticket(const rows& r) {
  return {r.integer(0), r.id(1),      static_cast<spi::access>(r.integer(2)),
          r.small(3),   r.small(4),   r.integer(5),
          r.integer(6), r.integer(7), r.integer(8)};
}

std::optional<ticket_row> one_ticket(rows r) {
  if (!r.next()) return std::nullopt;
  return read_ticket(r);
}

std::vector<ticket_row> all_tickets(rows r) {
  std::vector<ticket_row> all;
  while (r.next()) all.push_back(read_ticket(r));
  return all;
}

}  // namespace

instant expiry(instant now, std::chrono::nanoseconds ttl) noexcept {
  instant end = 0;
  return __builtin_add_overflow(now, ttl.count(), &end) ? std::numeric_limits<instant>::max() : end;
}

lock_table::lock_table(connection& c)
    : db_(c),
      find_(c.handle(), sql::find),
      floor_(c.handle(), sql::floor),
      save_(c.handle(), sql::save),
      take_free_(c.handle(), sql::take_free),
      leave_alone_(c.handle(), sql::leave_alone),
      leave_free_(c.handle(), sql::leave_free),
      pass_on_(c.handle(), sql::pass_on),
      extend_(c.handle(), sql::extend),
      extend_hold_(c.handle(), sql::extend_hold),
      hold_(c.handle(), sql::hold),
      holds_(c.handle(), sql::holds),
      add_hold_(c.handle(), sql::add_hold),
      drop_hold_(c.handle(), sql::drop_hold),
      drop_holds_(c.handle(), sql::drop_holds),
      first_(c.handle(), sql::first),
      first_two_(c.handle(), sql::first_two),
      last_(c.handle(), sql::last),
      ticket_(c.handle(), sql::ticket),
      before_(c.handle(), sql::before),
      after_(c.handle(), sql::after),
      tickets_(c.handle(), sql::tickets),
      add_ticket_(c.handle(), sql::add_ticket),
      join_line_(c.handle(), sql::join_line),
      move_ticket_(c.handle(), sql::move_ticket),
      drop_ticket_(c.handle(), sql::drop_ticket),
      drop_tickets_(c.handle(), sql::drop_tickets),
      used_names_(c.handle(), sql::used_names),
      idle_(c.handle(), sql::idle),
      forget_(c.handle(), sql::forget),
      raise_floor_(c.handle(), sql::raise_floor) {}

std::optional<lock_row> lock_table::find(std::string_view name) {
  rows r = find_(name);
  if (!r.next()) return std::nullopt;
  lock_row row;
  row.kind = static_cast<spi::kind>(r.integer(0));
  row.fence = r.integer(1);
  if (!r.null(2)) row.owner = r.id(2);
  row.token = r.integer(3);
  row.tokens = r.small(4);
  row.expires = r.integer(5);
  row.since = r.integer(6);
  row.session = r.integer(7);
  row.capacity = r.integer(8);
  row.shares = r.integer(9);
  row.awaited = r.integer(10) != 0;
  if (!r.null(11)) row.value = r.integer(11);
  return row;
}

lock_row lock_table::find_or_new(std::string_view name) {
  if (auto row = find(name)) return *row;
  ++made_;
  lock_row fresh;
  rows r = floor_();
  if (r.next()) fresh.fence = r.integer(0);
  return fresh;
}

void lock_table::save(std::string_view name, const lock_row& row) {
  save_.run(name, static_cast<int>(row.kind), row.fence, row.owner, row.token, row.tokens, row.expires, row.since,
            row.session, row.capacity, row.shares, row.awaited, row.value);
}

std::optional<std::int64_t> lock_table::take_free(const spi::claim& c, std::uint32_t tokens, instant now,
                                                  instant expires, session_id session) {
  const int taken =
      take_free_.run(std::string_view(c.name), static_cast<int>(c.kind), c.id, tokens, now, expires, session);
  return taken == 1 ? std::optional(db_.noted()[0]) : std::nullopt;
}

bool lock_table::leave_alone(std::string_view name, const spi::owner_id& id) { return leave_alone_.run(name, id) == 1; }

bool lock_table::leave_free(std::string_view name, const spi::owner_id& id) { return leave_free_.run(name, id) == 1; }

std::optional<lock_table::passed> lock_table::pass_on(std::string_view name, const spi::owner_id& from,
                                                      const ticket_row& to, instant now, instant expires) {
  if (pass_on_.run(name, from, to.owner, to.tokens, now, expires, to.session) != 1) return std::nullopt;
  return passed{db_.noted()[0], db_.noted()[1]};
}

bool lock_table::extend(std::string_view name, const spi::owner_id& id, instant now, instant expires) {
  return extend_.run(name, id, now, expires) == 1;
}
bool lock_table::extend_hold(std::string_view name, const spi::owner_id& id, instant now, instant expires) {
  return extend_hold_.run(name, id, now, expires) == 1;
}

std::optional<hold_row> lock_table::hold(std::string_view name, const spi::owner_id& id) {
  rows r = hold_(name, id);
  if (!r.next()) return std::nullopt;
  return read_hold(r);
}

std::vector<hold_row> lock_table::holds(std::string_view name) {
  std::vector<hold_row> all;
  rows r = holds_(name);
  while (r.next()) all.push_back(read_hold(r));
  return all;
}

void lock_table::add_hold(std::string_view name, const hold_row& h) {
  add_hold_.run(name, h.owner, h.token, h.tokens, h.permits, h.expires, h.since, h.session);
}
void lock_table::drop_hold(std::string_view name, const spi::owner_id& id) { drop_hold_.run(name, id); }
void lock_table::drop_holds(std::string_view name) { drop_holds_.run(name); }

std::optional<ticket_row> lock_table::first(std::string_view name) { return one_ticket(first_(name)); }
std::optional<ticket_row> lock_table::last(std::string_view name) { return one_ticket(last_(name)); }
std::optional<ticket_row> lock_table::ticket(std::string_view name, std::int64_t number) {
  return one_ticket(ticket_(name, number));
}
std::optional<ticket_row> lock_table::before(std::string_view name, std::int64_t number) {
  return one_ticket(before_(name, number));
}
std::optional<ticket_row> lock_table::after(std::string_view name, std::int64_t number) {
  return one_ticket(after_(name, number));
}

std::vector<ticket_row> lock_table::first_two(std::string_view name) { return all_tickets(first_two_(name)); }
std::vector<ticket_row> lock_table::tickets(std::string_view name) { return all_tickets(tickets_(name)); }

void lock_table::add_ticket(std::string_view name, const ticket_row& t) {
  add_ticket_.run(name, t.ticket, t.owner, static_cast<int>(t.access), t.permits, t.tokens, t.ttl, t.since, t.session,
                  t.mailbox);
}
std::int64_t lock_table::next_ticket(const std::optional<ticket_row>& last, instant now) noexcept {
  return last ? std::max(now, last->ticket + 1) : now;
}

std::optional<lock_table::joined> lock_table::join_line(std::string_view name, const ticket_row& wish, spi::kind kind,
                                                        std::uint32_t capacity, instant now) {
  const int added = join_line_.run(name, now, wish.owner, static_cast<int>(wish.access), wish.permits, wish.tokens,
                                   wish.ttl, wish.since, wish.session, wish.mailbox, static_cast<int>(kind), capacity);
  if (added != 1) return std::nullopt;
  const auto& [ticket, session, ttl] = db_.noted();
  joined behind{ticket, {}};
  behind.ahead.session = session;
  behind.ahead.ttl = ttl;
  return behind;
}

void lock_table::move_ticket(std::string_view name, std::int64_t number, mailbox_id to) {
  move_ticket_.run(name, number, to);
}
void lock_table::drop_ticket(std::string_view name, std::int64_t number) { drop_ticket_.run(name, number); }
void lock_table::drop_tickets(std::string_view name) { drop_tickets_.run(name); }

void lock_table::forget_idle(instant now) {
  // Twice as many as were made since: so the table follows the number of names in use.
  constexpr int names_per_look = 2 * names_between_looks;
  constexpr std::chrono::nanoseconds idle_for = std::chrono::hours(1);
  made_ = 0;
  std::vector<std::string> gone;
  std::int64_t highest = 0;
  int looked_at = 0;
  {
    rows r = idle_(std::string_view(looked_up_to_), now - idle_for.count(), names_per_look);
    for (; r.next(); ++looked_at) {
      if (r.integer(2) != 0) {
        gone.emplace_back(r.text(0));
        highest = std::max(highest, r.integer(1));
      }
      if (looked_at + 1 == names_per_look) looked_up_to_ = r.text(0);
    }
  }
  if (looked_at < names_per_look) looked_up_to_.clear();
  for (const std::string& name : gone) forget_.run(std::string_view(name));
  if (!gone.empty()) raise_floor_.run(highest);
}

std::vector<std::string> lock_table::used_names(std::string_view prefix) {
  std::vector<std::string> names;
  rows r = used_names_(prefix);
  while (r.next() && r.text(0).starts_with(prefix)) names.emplace_back(r.text(0));
  return names;
}

}  // namespace holdfast::sqlite
