#include "routine_text.hpp"

// The routines where ShedLock's table says who holds a lock, and ours beside it keep what that has no place for: the
// tokens, who the holder is, and who waits. Whoever waits does so in our line, but ShedLock knows of none: its clients
// may pass.

namespace holdfast::sql::text {

const std::string_view shed_enter = R"sql(
  {set} o_what = 0;
  {set} v_now = {now};
  {set} o_now = v_now;
  -- Somebody has it, and nobody is to be put in line: there is nothing to change, and nothing to wait for.
  IF p_queue = 0 THEN
    {set} o_left = NULL;
    SELECT {micros lock_until} - v_now INTO o_left FROM {t shedlock}
      WHERE name = {key p_name} AND lock_until > {time v_now} AND right(locked_by, 32) <> lower({hex p_owner});
    IF o_left IS NOT NULL THEN
      {end};
    END IF;
  END IF;
  {queue up p_name};
  {use open}
  {use shed_open}
  {use shed_bury}
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
  ELSEIF v_awaited = 1 THEN
    {use own_ticket}
    {use admit}
  END IF;
  IF o_what = 0 AND v_ticket IS NULL THEN
    IF v_awaited = 0 THEN
      {set} v_end = 0;
      {set} v_ahead = 0;
    END IF;
    IF v_blocked = 0 AND v_owner IS NULL THEN
      {set} q_owner = p_owner;
      {set} q_access = p_access;
      {set} q_permits = p_permits;
      {set} q_tokens = p_tokens;
      {set} q_ttl = p_ttl;
      {set} q_client = p_client;
      {set} q_holder = p_holder;
      {use grant}
      {set} o_what = 1;
      {set} o_token = v_first;
      {set} o_tokens = p_tokens;
      {set} o_left = p_ttl;
    ELSEIF p_queue = 1 THEN
      {use join}
    END IF;
  END IF;
  {use busy}
  -- Nobody tells us when somebody else releases it: whoever is first in line looks now and then, not all at one time.
  IF o_what = 0 AND v_owner = '' AND v_ticket IS NOT NULL AND v_ahead = 0 THEN
    {set} o_left = least(o_left, 50000 + mod(v_now, 50000));
  END IF;
  {use shed_save}
)sql";

// Its row stays, and says that it is free: from now on, or from when it was kept for long enough.
const std::string_view shed_leave = R"sql(
  {queue up p_name unless EXISTS(SELECT 1 FROM {t locks} WHERE name = p_name AND owner = p_owner)};
  {set} o_done = 0;
  {use lock_row}
  IF v_fence IS NULL THEN
    {end};
  END IF;
  {use shed_row}
  {use shed_bury}
  IF v_owner = p_owner THEN
    {set} v_owner = NULL;
    {set} v_expires = v_since + {at least};
    IF v_expires > v_now THEN
      {set} v_owner = '';
    ELSE
      {set} v_expires = v_now - mod(v_now, 1000);
    END IF;
    UPDATE {t shedlock} SET lock_until = {time v_expires} WHERE name = {key p_name};
    {set} o_done = 1;
  ELSEIF v_awaited = 1 THEN
    DELETE FROM {t queue} WHERE name = p_name AND owner = p_owner;
    {changed o_done};
  END IF;
  IF o_done = 0 THEN
    {end};
  END IF;
  {set} v_dirty = 1;
  {set} v_self = '';
  {use admit}
  {use shed_save}
)sql";

// Our own row is asked first: a lock that was released and is kept for a while still has our name on it. What stays as
// it was is no change: it is later by a millisecond at least.
const std::string_view shed_renew = R"sql(
  {set} o_done = 0;
  {set} v_owner = NULL;
  SELECT owner INTO v_owner FROM {t locks} WHERE name = p_name AND owner = p_owner FOR UPDATE;
  IF v_owner = p_owner THEN
    {set} v_now = {now};
    UPDATE {t shedlock}
      SET lock_until = {time greatest({micros lock_until} + 1000, v_now + p_ttl + 999 - mod(v_now + p_ttl + 999, 1000))}
      WHERE name = {key p_name} AND right(locked_by, 32) = lower({hex p_owner}) AND lock_until > {time v_now};
    {changed o_done};
  END IF;
)sql";

// Also of who is none of ours. One of ours is told.
const std::string_view shed_evict = R"sql(
  {queue up p_name};
  {set} o_done = 0;
  {use lock_row}
  {use shed_row}
  IF v_fence IS NULL THEN
    {set} v_owner = NULL;
  END IF;
  {use shed_bury}
  IF v_expires IS NULL OR v_expires <= v_now THEN
    {end};
  END IF;
  IF v_owner <> '' THEN
    {tell v_client, concat('e ', {hex v_owner})};
  END IF;
  UPDATE {t shedlock} SET lock_until = {time v_now - mod(v_now, 1000)} WHERE name = {key p_name};
  {set} o_done = 1;
  IF v_fence IS NULL THEN
    {end};
  END IF;
  {set} v_owner = NULL;
  {set} v_dirty = 1;
  {set} v_self = '';
  {use admit}
  {use shed_save}
)sql";

// Who holds and who waits, in order, as text::inspection. The owner of who is none of ours is empty, and locked_by his
// host.
const std::string_view shed_inspection = R"sql(
SELECT 1 AS what, {bytes s.name} AS name, 1 AS kind, coalesce(l.owner, '') AS owner, coalesce(l.token, 0) AS token,
    1 AS access, 1 AS permits, {micros s.lock_until} - {now} AS remaining, {micros s.locked_at} AS since,
    coalesce(l.holder, {bytes concat('0', {tab}, s.locked_by, {tab})}) AS holder, 0 AS ticket
  FROM {t shedlock} s LEFT JOIN {t locks} l
    ON l.name = {bytes s.name} AND l.owner <> '' AND right(s.locked_by, 32) = lower({hex l.owner})
  WHERE s.lock_until > {time {now}} AND {bytes s.name} >= {from} AND {bytes s.name} < {until}
UNION ALL
SELECT 2, l.name, l.kind, q.owner, 0, q.access, q.permits, 0, q.since, q.holder, q.ticket
  FROM {t locks} l JOIN {t queue} q ON q.name = l.name
  WHERE l.name >= {from} AND l.name < {until} AND l.awaited = 1 AND q.alive_until > {now} AND {listens q.client}
ORDER BY name, what, ticket, token)sql";

}  // namespace holdfast::sql::text
