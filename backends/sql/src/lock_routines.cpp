#include "routine_text.hpp"

namespace holdfast::sql::text {

// Grants, or joins the line, or finds the grant or ticket of this very owner.
const std::string_view enter = R"sql(
  {set} o_what = 0;
  {set} v_now = {now};
  {set} o_now = v_now;
  -- One statement is enough for a lock that one has alone, is free and is known. (The order of the assignments matters
  -- to MySQL.)
  IF p_kind <> 3 AND p_access = 1 AND {first p_name} THEN
    UPDATE {t locks} SET kind = p_kind, token = greatest(fence + 1, v_now), fence = greatest(fence + 1, v_now) + p_tokens - 1,
      owner = p_owner, tokens = p_tokens, expires = v_now + p_ttl, since = v_now, client = p_client, holder = p_holder
      WHERE name = p_name AND owner IS NULL AND shares = 0 AND awaited = 0 AND value IS NULL
      {returning token INTO o_token};
    {changed v_n};
    IF v_n = 1 AND p_last <> 0 AND {now} > p_last THEN
      UPDATE {t locks} SET owner = NULL WHERE name = p_name;
      {set} o_now = {now};
      {set} o_what = 4;
      {end};
    END IF;
    IF v_n = 1 THEN
      {reread SELECT token INTO o_token FROM {t locks} WHERE name = p_name;}
      {set} o_what = 1;
      {set} o_tokens = p_tokens;
      {set} o_left = p_ttl;
      {end};
    END IF;
  END IF;
  -- Somebody has it alone, and nobody is to be put in line: there is nothing to change, and nothing to wait for.
  IF p_queue = 0 AND p_access = 1 THEN
    {set} o_left = NULL;
    SELECT expires - v_now INTO o_left FROM {t locks}
      WHERE name = p_name AND kind = p_kind AND owner <> p_owner AND expires > v_now;
    IF o_left IS NOT NULL THEN
      {end};
    END IF;
  END IF;
  {queue up p_name};
  {use open}
  {use bury}
  {set} o_now = v_now;
  {use too_late}
  {set} v_self = p_owner;
  {set} v_blocked = 0;
  {set} v_ticket = NULL;
  {set} v_end = 0;
  {set} v_ahead = 0;
  IF v_owner = p_owner THEN
    {set} o_what = 1;
    {set} o_token = v_token;
    {set} o_tokens = v_tokens;
    {set} o_left = v_expires - v_now;
  ELSEIF v_shares <> 0 THEN
    {set} o_token = NULL;
    SELECT token, tokens, expires - v_now INTO o_token, o_tokens, o_left
      FROM {t holds} WHERE name = p_name AND owner = p_owner;
    IF o_token IS NOT NULL THEN
      {set} o_what = 1;
    END IF;
  END IF;
  IF o_what = 0 AND v_awaited = 1 THEN
    {use own_ticket}
    IF v_kind <= 3 THEN
      {use admit}
    END IF;
  END IF;
  IF o_what = 0 AND v_ticket IS NULL THEN
    {use clear_line}
    IF v_awaited = 0 THEN
      {set} v_end = 0;
      {set} v_ahead = 0;
    END IF;
    IF (v_owner IS NOT NULL OR v_shares <> 0 OR v_awaited = 1 OR v_value IS NOT NULL) AND v_kind <> p_kind THEN
      {set} o_what = 2;
      {set} o_token = v_kind;
    ELSEIF (v_shares <> 0 OR v_awaited = 1) AND p_kind = 3 AND v_capacity <> p_limit THEN
      {set} o_what = 3;
      {set} o_token = v_capacity;
    ELSE
      {set} v_kind = p_kind;
      {set} v_capacity = p_limit;
      {set} q_owner = p_owner;
      {set} q_access = p_access;
      {set} q_permits = p_permits;
      {set} q_tokens = p_tokens;
      {set} q_ttl = p_ttl;
      {set} q_client = p_client;
      {set} q_holder = p_holder;
      IF v_blocked = 0 AND {use fits} THEN
        {use grant}
        {set} o_what = 1;
        {set} o_token = v_first;
        {set} o_tokens = p_tokens;
        {set} o_left = p_ttl;
      ELSEIF p_queue = 1 THEN
        {use join}
      END IF;
    END IF;
  END IF;
  {use busy}
  {use save}
)sql";

// Ends a grant or leaves the line, whichever there is, and lets in who is next. Those who want to come in do not keep
// the holder from going: however many they are, it waits for one at most.
const std::string_view leave = R"sql(
  {queue up p_name unless EXISTS(SELECT 1 FROM {t locks} WHERE name = p_name AND owner = p_owner)};
  {set} o_done = 0;
  UPDATE {t locks} SET owner = NULL WHERE name = p_name AND owner = p_owner AND awaited = 0;
  {changed v_n};
  IF v_n = 1 THEN
    {set} o_done = 1;
    {end};
  END IF;
  {use lock_row}
  IF v_fence IS NULL THEN
    {end};
  END IF;
  {set} v_n = 0;
  IF v_owner = p_owner THEN
    {set} v_owner = NULL;
    {set} v_n = 1;
  ELSEIF v_shares <> 0 THEN
    {set} v_before = NULL;
    SELECT permits INTO v_before FROM {t holds} WHERE name = p_name AND owner = p_owner;
    IF v_before IS NOT NULL THEN
      DELETE FROM {t holds} WHERE name = p_name AND owner = p_owner;
      {set} v_shares = v_shares - v_before;
      {set} v_n = 1;
    END IF;
  END IF;
  {set} o_done = v_n;
  IF o_done = 0 AND v_awaited = 1 THEN
    DELETE FROM {t queue} WHERE name = p_name AND owner = p_owner;
    {changed o_done};
  END IF;
  IF o_done = 0 THEN
    {end};
  END IF;
  {use bury}
  {set} v_dirty = 1;
  {set} v_self = '';
  IF v_kind <= 3 THEN
    {use admit}
  END IF;
  {use save}
)sql";

// Extends a grant that is still there. The likely table first: what was converted may be in the other one. One that is
// executed late does not take away what a later one gave; it adds a microsecond, for what stays as it was is no change.
const std::string_view renew = R"sql(
  {set} v_now = {now};
  UPDATE {t locks} SET expires = greatest(expires + 1, v_now + p_ttl)
    WHERE name = p_name AND owner = p_owner AND expires > v_now;
  {changed o_done};
  IF o_done = 0 THEN
    UPDATE {t holds} SET expires = greatest(expires + 1, v_now + p_ttl)
      WHERE name = p_name AND owner = p_owner AND expires > v_now;
    {changed o_done};
  END IF;
  -- A reader that became a writer between the two looks is in neither: it is in the first by now.
  IF o_done = 0 THEN
    UPDATE {t locks} SET expires = greatest(expires + 1, v_now + p_ttl)
      WHERE name = p_name AND owner = p_owner AND expires > v_now;
    {changed o_done};
  END IF;
)sql";

// From reader to writer, if nobody else is there or waits: whoever is in line waits for this very reader to go. From
// writer to reader always, and other readers come in too. One that comes later than p_last was given up, and may have
// been sent again since: what it asks for may have been changed back.
const std::string_view convert = R"sql(
  {queue up p_name};
  {set} o_done = -1;
  {use lock_row}
  IF v_fence IS NULL THEN
    {end};
  END IF;
  {use bury}
  IF p_last <> 0 AND v_now > p_last THEN
    {set} o_done = -2;
    {use save}
    {end};
  END IF;
  {set} v_self = '';
  {set} v_first = NULL;
  IF v_shares <> 0 THEN
    SELECT token INTO v_first FROM {t holds} WHERE name = p_name AND owner = p_owner;
  END IF;
  IF p_access = 2 AND v_owner = p_owner THEN
    INSERT INTO {t holds}(name, owner, token, tokens, permits, expires, since, client, holder)
      VALUES(p_name, p_owner, v_token, v_tokens, 1, v_expires, v_since, v_client, v_holder);
    {set} v_owner = NULL;
    {set} v_shares = 1;
    {set} v_dirty = 1;
    {set} o_done = 1;
    {use admit}
  ELSEIF (p_access = 2 AND v_first IS NOT NULL) OR (p_access = 1 AND v_owner = p_owner) THEN
    {set} o_done = 1;
  ELSEIF p_access = 1 AND v_first IS NOT NULL THEN
    {set} o_done = 0;
    {use admit}
    IF v_shares = 1 AND v_blocked = 0 THEN
      SELECT token, tokens, expires, since, client, holder INTO v_token, v_tokens, v_expires, v_since, v_client, v_holder
        FROM {t holds} WHERE name = p_name AND owner = p_owner;
      DELETE FROM {t holds} WHERE name = p_name AND owner = p_owner;
      {set} v_shares = 0;
      {set} v_owner = p_owner;
      {set} v_dirty = 1;
      {set} o_done = 1;
    END IF;
  END IF;
  {use save}
)sql";

const std::string_view raise_token = R"sql(
  {queue up p_name};
  {set} o_done = -1;
  {use lock_row}
  IF v_fence IS NULL THEN
    {end};
  END IF;
  {use bury}
  {set} v_n = 0;
  IF v_shares <> 0 THEN
    SELECT count(*) INTO v_n FROM {t holds} WHERE name = p_name AND owner = p_owner;
  END IF;
  IF v_owner = p_owner OR v_n = 1 THEN
    {set} o_done = 1;
    {set} v_fence = greatest(v_fence, p_floor);
    {set} v_dirty = 1;
  END IF;
  {use save}
)sql";

// Ends every grant. The holders are told.
const std::string_view evict = R"sql(
  {queue up p_name};
  {set} o_done = 0;
  {use lock_row}
  IF v_fence IS NULL THEN
    {end};
  END IF;
  {use bury}
  {set} v_self = '';
  IF v_owner IS NOT NULL THEN
    {tell v_client, concat('e ', {hex v_owner})};
    {set} v_owner = NULL;
    {set} v_dirty = 1;
    {set} o_done = 1;
  END IF;
  {loop v_shares <> 0}
    {set} q_owner = NULL;
    SELECT owner, client, permits INTO q_owner, q_client, q_permits
      FROM {t holds} WHERE name = p_name ORDER BY owner LIMIT 1;
    IF q_owner IS NULL THEN
      {set} v_shares = 0;
    ELSE
      DELETE FROM {t holds} WHERE name = p_name AND owner = q_owner;
      {set} v_shares = v_shares - q_permits;
      {tell q_client, concat('e ', {hex q_owner})};
    END IF;
    {set} v_dirty = 1;
    {set} o_done = 1;
  {end loop};
  IF v_kind <= 3 THEN
    {use admit}
  END IF;
  {use save}
)sql";

// Who holds and who waits, in order. what: 1 holds, 2 waits. One statement: one moment.
const std::string_view inspection = R"sql(
SELECT 1 AS what, l.name AS name, l.kind AS kind, l.owner AS owner, l.token AS token, 1 AS access, 1 AS permits,
    l.expires - {now} AS remaining, l.since AS since, l.holder AS holder, 0 AS ticket
  FROM {t locks} l WHERE l.name >= {from} AND l.name < {until} AND l.owner IS NOT NULL AND l.expires > {now}
UNION ALL
SELECT 1, l.name, l.kind, h.owner, h.token, 2, h.permits, h.expires - {now}, h.since, h.holder, 0
  FROM {t locks} l JOIN {t holds} h ON h.name = l.name
  WHERE l.name >= {from} AND l.name < {until} AND l.shares <> 0 AND h.expires > {now}
UNION ALL
SELECT 2, l.name, l.kind, q.owner, 0, q.access, q.permits, 0, q.since, q.holder, q.ticket
  FROM {t locks} l JOIN {t queue} q ON q.name = l.name
  WHERE l.name >= {from} AND l.name < {until} AND l.awaited = 1 AND q.alive_until > {now} AND {listens q.client}
ORDER BY name, what, ticket, token)sql";

}  // namespace holdfast::sql::text
