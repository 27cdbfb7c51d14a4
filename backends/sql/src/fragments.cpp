#include "fragments.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace holdfast::sql {

namespace {

// Locks the row of the name, which serves one at a time: every statement after this sees all that was done before, as
// long as the transaction is READ COMMITTED. No row: v_fence stays NULL.
constexpr std::string_view lock_row = R"sql(
  {set} v_fence = NULL;
  SELECT kind, fence, owner, token, tokens, expires, since, client, holder, capacity, shares, awaited, value
    INTO v_kind, v_fence, v_owner, v_token, v_tokens, v_expires, v_since, v_client, v_holder, v_capacity, v_shares,
      v_awaited, v_value
    FROM {t locks} WHERE name = p_name FOR UPDATE;)sql";

// The same, and makes the row if there is none. Its tokens start with the time, so that tables that were dropped and
// made again do not give out their old tokens once more.
constexpr std::string_view open = R"sql(
  {set} v_fence = NULL;
  {loop v_fence IS NULL}
    {use lock_row}
    IF v_fence IS NULL THEN
      {set} v_now = {now};
      {insert new} INTO {t locks}(name, kind, fence) VALUES(p_name, p_kind, v_now) {or leave name};
    END IF;
  {end loop};)sql";

// Ends the grants whose time is over. The shares are counted whenever there are any: what is believed of them must not
// outlive them, whatever became of who ended them before.
constexpr std::string_view bury = R"sql(
  {set} v_now = {now};
  {set} v_dirty = 0;
  IF v_owner IS NOT NULL AND v_expires <= v_now THEN
    {set} v_owner = NULL;
    {set} v_dirty = 1;
  END IF;
  IF v_shares <> 0 THEN
    DELETE FROM {t holds} WHERE name = p_name AND expires <= v_now;
    SELECT coalesce(sum(permits), 0) INTO v_n FROM {t holds} WHERE name = p_name;
    IF v_n <> v_shares THEN
      {set} v_shares = v_n;
      {set} v_dirty = 1;
    END IF;
  END IF;)sql";

// Who asked has given up by p_last (0: nobody knows), and has left or is about to: what is granted now nobody would
// give back. Whoever hears this answer all the same has the clock wrong, and asks again.
constexpr std::string_view too_late = R"sql(
  IF p_last <> 0 AND v_now > p_last THEN
    {set} o_what = 4;
    {use save}
    {end};
  END IF;)sql";

// A line of nobody who lives keeps no name from another use.
constexpr std::string_view clear_line = R"sql(
  IF v_awaited = 1 AND v_kind <> p_kind AND v_owner IS NULL AND v_shares = 0 THEN
    {set} v_last = 0;
    {set} v_more = 1;
    {loop v_more = 1}
      {use next}
      IF q_ticket IS NULL OR (q_alive > v_now AND {listens q_client}) THEN
        {set} v_more = 0;
      ELSE
        {set} v_last = q_ticket;
      END IF;
    {end loop};
    IF q_ticket IS NULL THEN
      DELETE FROM {t queue} WHERE name = p_name;
      {set} v_awaited = 0;
      {set} v_dirty = 1;
    END IF;
  END IF;)sql";

// The next ticket behind v_last.
constexpr std::string_view next = R"sql(
    {set} q_ticket = NULL;
    SELECT ticket, owner, access, permits, tokens, ttl, alive_until, client, holder
      INTO q_ticket, q_owner, q_access, q_permits, q_tokens, q_ttl, q_alive, q_client, q_holder
      FROM {t queue} WHERE name = p_name AND ticket > v_last ORDER BY ticket LIMIT 1;)sql";

// Who has ended without leaving the line is passed over, and keeps the place while it may come back. So is who has not
// been heard of for long, even if its connection seems to be there: its machine may be gone.
constexpr std::string_view pass_over = R"sql(
      DELETE FROM {t queue} WHERE name = p_name AND ticket = q_ticket AND alive_until <= v_now;
      {changed v_n};
      IF v_n = 0 THEN
        {set} v_last = q_ticket;
      END IF;
      {set} v_more = 1;)sql";

// Gives tokens to who stands in q_ and makes him a holder. A token is no less than the time: if the database forgets
// its last moments (a standby that lagged is promoted), new tokens are greater than forgotten ones all the same.
constexpr std::string_view grant = R"sql(
        {set} v_first = greatest(v_fence + 1, v_now);
        {set} v_fence = v_first + q_tokens - 1;
        IF v_kind = 3 OR q_access = 2 THEN
          INSERT INTO {t holds}(name, owner, token, tokens, permits, expires, since, client, holder)
            VALUES(p_name, q_owner, v_first, q_tokens, q_permits, v_now + q_ttl, v_now, q_client, q_holder);
          {set} v_shares = v_shares + q_permits;
        ELSE
          {set} v_owner = q_owner;
          {set} v_token = v_first;
          {set} v_tokens = q_tokens;
          {set} v_expires = v_now + q_ttl;
          {set} v_since = v_now;
          {set} v_client = q_client;
          {set} v_holder = q_holder;
        END IF;
        {set} v_dirty = 1;)sql";

constexpr std::string_view fits = R"sql(
((v_kind = 3 AND v_shares + q_permits <= v_capacity)
  OR (v_kind <> 3 AND v_owner IS NULL AND (v_shares = 0 OR (v_kind = 2 AND q_access = 2)))))sql";

// Lets in who is first in line and fits, and so on. v_self is who asks: what he gets is in the answer, the others are
// told. v_blocked: somebody in line must come first.
constexpr std::string_view admit = R"sql(
  {set} v_last = 0;
  {set} v_blocked = 0;
  {set} v_more = v_awaited;
  -- With somebody who has it alone nobody fits: the line need not be looked at.
  IF v_owner IS NOT NULL THEN
    {set} v_blocked = v_awaited;
    {set} v_more = 0;
  END IF;
  {loop v_more = 1}
    {set} v_more = 0;
    {use next}
    IF q_ticket IS NULL THEN
      IF v_last = 0 THEN
        {set} v_awaited = 0;
        {set} v_dirty = 1;
      END IF;
    ELSEIF q_owner <> v_self AND NOT (q_alive > v_now AND {listens q_client}) THEN
      {use pass_over}
    ELSEIF {use fits} THEN
      DELETE FROM {t queue} WHERE name = p_name AND ticket = q_ticket;
      {use grant}
      IF q_owner = v_self THEN
        {set} o_what = 1;
        {set} o_token = v_first;
        {set} o_tokens = q_tokens;
        {set} o_left = q_ttl;
      ELSE
        {tell q_client, concat('g ', {hex q_owner}, ' ', v_first, ' ', q_tokens, ' ', v_now, ' ', q_ttl, ' ', {hex p_name})};
      END IF;
      -- Whether anybody stands behind him is for his own release to find.
      IF v_owner IS NULL THEN
        {set} v_more = 1;
      ELSE
        {set} v_blocked = 1;
      END IF;
    ELSE
      {set} v_blocked = 1;
    END IF;
  {end loop};)sql";

// The same for who waits for a number.
constexpr std::string_view admit_number = R"sql(
  {set} v_last = 0;
  {set} v_blocked = 0;
  {set} v_more = v_awaited;
  {loop v_more = 1}
    {set} v_more = 0;
    {use next}
    IF q_ticket IS NULL THEN
      IF v_last = 0 THEN
        {set} v_awaited = 0;
        {set} v_dirty = 1;
      END IF;
    ELSEIF q_owner <> v_self AND NOT (q_alive > v_now AND {listens q_client}) THEN
      {use pass_over}
    ELSEIF (v_kind = 5 AND v_value IS NULL) OR (v_kind = 4 AND coalesce(v_value, 0) >= q_permits) THEN
      DELETE FROM {t queue} WHERE name = p_name AND ticket = q_ticket;
      IF v_kind = 4 THEN
        IF q_permits <> 0 THEN
          {set} v_value = v_value - q_permits;
        END IF;
        -- For an hour at least: it is not he who asks, and he may be cut off for a while.
        {insert new} INTO {t done}(id, taken, done, value, ends)
          VALUES(q_owner, q_permits, 1, 0, v_now + greatest(p_memory, 3600000000)) {or leave id};
      END IF;
      {set} v_dirty = 1;
      IF q_owner = v_self THEN
        {set} o_what = 1;
      ELSE
        {tell q_client, concat('g ', {hex q_owner}, ' 0 0 ', v_now, ' 0 ', {hex p_name})};
      END IF;
      {set} v_more = 1;
    ELSE
      {set} v_blocked = 1;
    END IF;
  {end loop};)sql";

constexpr std::string_view save = R"sql(
  IF v_dirty = 1 THEN
    UPDATE {t locks} SET kind = v_kind, fence = v_fence, owner = v_owner, token = v_token, tokens = v_tokens,
      expires = v_expires, since = v_since, client = v_client, holder = v_holder, capacity = v_capacity,
      shares = v_shares, awaited = v_awaited, value = v_value WHERE name = p_name;
  END IF;)sql";

// One's own place in line, which lasts for another while; and how long the line is.
constexpr std::string_view own_ticket = R"sql(
    {set} v_ticket = NULL;
    {set} v_end = 0;
    {set} v_ahead = 0;
    IF v_awaited = 1 THEN
      SELECT max(CASE WHEN owner = p_owner THEN ticket END), coalesce(max(ticket), 0), count(*)
        INTO v_ticket, v_end, v_ahead FROM {t queue} WHERE name = p_name;
      IF v_ticket IS NOT NULL AND p_client <> 0 THEN
        UPDATE {t queue} SET alive_until = v_now + p_patience, client = p_client
          WHERE name = p_name AND ticket = v_ticket;
      END IF;
      IF v_ticket IS NOT NULL AND v_ticket < v_end THEN
        SELECT count(*) INTO v_ahead FROM {t queue} WHERE name = p_name AND ticket < v_ticket;
      ELSEIF v_ticket IS NOT NULL THEN
        {set} v_ahead = v_ahead - 1;
      END IF;
    END IF;)sql";

constexpr std::string_view join = R"sql(
        {set} v_ticket = v_end + 1;
        INSERT INTO {t queue}(name, ticket, owner, access, permits, tokens, ttl, since, alive_until, client, holder)
          VALUES(p_name, v_ticket, p_owner, p_access, p_permits, p_tokens, p_ttl, v_now, v_now + p_patience, p_client,
            p_holder);
        IF v_awaited = 0 THEN
          {set} v_awaited = 1;
          {set} v_dirty = 1;
        END IF;)sql";

// Not granted: when the first of the holders ends, and how many stand before us.
constexpr std::string_view busy = R"sql(
  IF o_what = 0 THEN
    {set} o_left = -1;
    IF v_owner IS NOT NULL THEN
      {set} o_left = v_expires - v_now;
    ELSEIF v_shares <> 0 THEN
      SELECT min(expires) - v_now INTO o_left FROM {t holds} WHERE name = p_name;
    END IF;
    IF v_ticket IS NOT NULL THEN
      {set} o_tokens = v_ahead;
    END IF;
  END IF;)sql";

// Now and then, by the last digits of the time.
constexpr std::string_view sweep = R"sql(
  IF mod(v_now, 64) = 0 THEN
    {forget done};
  END IF;)sql";

// ShedLock's row of the name, locked behind ours. It alone says whether the lock is free. No row: v_expires is NULL.
constexpr std::string_view shed_row = R"sql(
  {set} v_expires = NULL;
  SELECT {micros lock_until}, {micros locked_at}, locked_by INTO v_expires, v_since, v_by
    FROM {t shedlock} WHERE name = {key p_name} FOR UPDATE;)sql";

// The same, and makes a row that is free if there is none: two who insert at once then meet in it.
constexpr std::string_view shed_open = R"sql(
  {set} v_expires = NULL;
  {loop v_expires IS NULL}
    {use shed_row}
    IF v_expires IS NULL THEN
      {set} v_now = {now};
      {insert new} INTO {t shedlock}(name, lock_until, locked_at, locked_by)
        VALUES({key p_name}, {time v_now - mod(v_now, 1000)}, {time v_now - mod(v_now, 1000)},
          concat({host p_holder}, '-', lower({hex p_owner}))) {or leave name};
    END IF;
  {end loop};)sql";

// Who has it: one of ours, nobody, or somebody else, whose id is empty. A claim of ours is known by the end of
// locked_by, which no other has.
constexpr std::string_view shed_bury = R"sql(
  {set} v_now = {now};
  {set} v_dirty = 0;
  {set} v_first = NULL;
  IF v_expires IS NULL OR v_expires <= v_now THEN
    IF v_owner IS NOT NULL THEN
      {set} v_owner = NULL;
      {set} v_dirty = 1;
    END IF;
  ELSEIF v_owner IS NULL OR right(v_by, 32) <> lower({hex v_owner}) THEN
    {set} v_owner = '';
  END IF;)sql";

// Whoever was let in stands in ShedLock's row too. Its column may have no more than milliseconds: the end is rounded
// up, as whoever holds it counts on all of its time; the beginning down.
constexpr std::string_view shed_save = R"sql(
  IF v_first IS NOT NULL THEN
    UPDATE {t shedlock} SET lock_until = {time v_expires + 999 - mod(v_expires + 999, 1000)},
      locked_at = {time v_since - mod(v_since, 1000)}, locked_by = concat({host v_holder}, '-', lower({hex v_owner}))
      WHERE name = {key p_name};
  END IF;
  {use save})sql";

constexpr std::array all{
    std::pair<std::string_view, std::string_view>{"lock_row", lock_row},
    std::pair<std::string_view, std::string_view>{"open", open},
    std::pair<std::string_view, std::string_view>{"bury", bury},
    std::pair<std::string_view, std::string_view>{"too_late", too_late},
    std::pair<std::string_view, std::string_view>{"clear_line", clear_line},
    std::pair<std::string_view, std::string_view>{"next", next},
    std::pair<std::string_view, std::string_view>{"pass_over", pass_over},
    std::pair<std::string_view, std::string_view>{"grant", grant},
    std::pair<std::string_view, std::string_view>{"fits", fits},
    std::pair<std::string_view, std::string_view>{"admit", admit},
    std::pair<std::string_view, std::string_view>{"admit_number", admit_number},
    std::pair<std::string_view, std::string_view>{"save", save},
    std::pair<std::string_view, std::string_view>{"own_ticket", own_ticket},
    std::pair<std::string_view, std::string_view>{"join", join},
    std::pair<std::string_view, std::string_view>{"busy", busy},
    std::pair<std::string_view, std::string_view>{"sweep", sweep},
    std::pair<std::string_view, std::string_view>{"shed_row", shed_row},
    std::pair<std::string_view, std::string_view>{"shed_open", shed_open},
    std::pair<std::string_view, std::string_view>{"shed_bury", shed_bury},
    std::pair<std::string_view, std::string_view>{"shed_save", shed_save},
};

}  // namespace

std::string_view fragment(std::string_view name) {
  for (const auto& [known, text] : all)
    if (known == name) return text;
  throw std::logic_error("no such fragment: " + std::string(name));
}

}  // namespace holdfast::sql
