#include "routine_text.hpp"

namespace holdfast::sql::text {

// Takes permits of a semaphore, or passes an open latch, or joins the line.
const std::string_view enter_number = R"sql(
  {queue up p_name};
  {set} o_what = 0;
  {use open}
  {use bury}
  {set} o_now = v_now;
  {use too_late}
  {set} v_self = p_owner;
  {set} v_ticket = NULL;
  IF p_kind = 4 THEN
    SELECT count(*) INTO v_n FROM {t done} WHERE id = p_owner;
    IF v_n = 1 THEN
      {set} o_what = 1;
      {end};
    END IF;
  END IF;
  {use clear_line}
  IF (v_owner IS NOT NULL OR v_shares <> 0 OR v_awaited = 1 OR v_value IS NOT NULL) AND v_kind <> p_kind THEN
    {set} o_what = 2;
    {set} o_token = v_kind;
    {use save}
    {end};
  END IF;
  {set} v_kind = p_kind;
  {use own_ticket}
  {use admit_number}
  IF o_what = 0 AND v_ticket IS NULL THEN
    -- Who only tries takes what the first in line cannot use yet.
    IF (p_kind = 5 AND v_value IS NULL)
        OR (p_kind = 4 AND coalesce(v_value, 0) >= p_permits AND (v_blocked = 0 OR p_queue = 0)) THEN
      {set} o_what = 1;
      IF p_kind = 4 THEN
        IF p_permits <> 0 THEN
          {set} v_value = v_value - p_permits;
          {set} v_dirty = 1;
        END IF;
        INSERT INTO {t done}(id, taken, done, value, ends) VALUES(p_owner, p_permits, 1, 0, v_now + p_memory);
      END IF;
    ELSEIF p_queue = 1 THEN
      {use join}
    END IF;
  END IF;
  {use busy}
  {use save}
  {use sweep}
)sql";

// Leaves the line; or gives back permits, if they came when nobody wanted them any more. An entry of the same owner
// that is executed after this (it waited in the buffer of a connection that was given up) finds itself done, and takes
// none.
const std::string_view leave_number = R"sql(
  {queue up p_name};
  {set} o_done = 0;
  {use open}
  {set} v_now = {now};
  {set} v_dirty = 0;
  {set} v_self = '';
  IF v_awaited = 1 THEN
    DELETE FROM {t queue} WHERE name = p_name AND owner = p_owner;
    {changed o_done};
  END IF;
  IF o_done = 0 AND v_kind = 4 THEN
    {set} v_before = NULL;
    SELECT taken INTO v_before FROM {t done} WHERE id = p_owner;
    IF v_before > 0 THEN
      UPDATE {t done} SET taken = 0 WHERE id = p_owner;
      {set} v_value = coalesce(v_value, 0) + v_before;
      {set} v_dirty = 1;
      {set} o_done = 1;
    END IF;
  END IF;
  {insert new} INTO {t done}(id, taken, done, value, ends)
    VALUES(p_owner, 0, 1, 0, v_now + p_memory) {or leave id};
  IF v_kind > 3 THEN
    {use admit_number}
  END IF;
  {use save}
)sql";

// One step on the number of a semaphore or latch: 0 get, 1 set if unset, 2 add, 3 subtract, 4 drain. An open latch is
// as good as none; a semaphore that was drained before it was set stays unset.
const std::string_view count_step = R"sql(
  {set} o_done = 1;
  IF p_step = 0 THEN
    -- To look changes nothing, and waits for nobody.
    {set} v_kind = NULL;
    {set} v_value = NULL;
    SELECT kind, value INTO v_kind, v_value FROM {t locks} WHERE name = p_name;
    IF v_kind IS NULL OR v_kind = p_kind THEN
      {set} o_value = coalesce(v_value, 0);
      {end};
    END IF;
  END IF;
  {queue up p_name};
  {use open}
  {use bury}
  {set} v_self = '';
  SELECT count(*) INTO v_n FROM {t done} WHERE id = p_owner;
  IF v_n = 1 THEN
    SELECT done, value INTO o_done, o_value FROM {t done} WHERE id = p_owner;
    {end};
  END IF;
  {use clear_line}
  IF (v_owner IS NOT NULL OR v_shares <> 0 OR v_awaited = 1 OR v_value IS NOT NULL) AND v_kind <> p_kind THEN
    {set} o_done = 2;
    {set} o_value = v_kind;
    {use save}
    {end};
  END IF;
  {set} v_before = coalesce(v_value, 0);
  {set} o_value = v_before;
  IF p_step = 0 THEN
    {end};
  END IF;
  {set} v_kind = p_kind;
  {set} v_after = v_before;
  IF p_step = 1 THEN
    IF (p_kind = 5 AND v_before = 0) OR (p_kind = 4 AND v_value IS NULL) THEN
      {set} v_after = p_amount;
    ELSE
      {set} o_done = 0;
    END IF;
  ELSEIF p_step = 2 THEN
    IF (p_amount > 0 AND v_before > 9223372036854775807 - p_amount)
        OR (p_amount < 0 AND v_before < -9223372036854775807 - p_amount) THEN
      {set} o_done = 4;
      {end};
    END IF;
    {set} v_after = v_before + p_amount;
  ELSEIF p_step = 3 THEN
    {set} v_after = greatest(v_before - p_amount, 0);
  ELSEIF p_step = 4 THEN
    {set} v_after = least(v_before, 0);
  END IF;
  {set} o_value = v_after;
  IF p_step = 4 THEN
    {set} o_value = v_before - v_after;
  END IF;
  IF (p_kind = 5 AND v_after = 0) OR (p_step = 4 AND v_value IS NULL) OR (o_done = 0 AND v_value IS NULL) THEN
    {set} v_value = NULL;
  ELSE
    {set} v_value = v_after;
  END IF;
  {set} v_dirty = 1;
  {use admit_number}
  {use save}
  INSERT INTO {t done}(id, taken, done, value, ends) VALUES(p_owner, 0, o_done, o_value, v_now + p_memory);
  {use sweep}
)sql";

// Version 0 is one that is not there. Versions only grow.
const std::string_view exchange_cell = R"sql(
  {set} v_now = {now};
  {set} o_done = 0;
  SELECT count(*) INTO v_n FROM {t done} WHERE id = p_owner;
  IF v_n = 1 THEN
    {set} o_done = 1;
    {end};
  END IF;
  IF p_expected = 0 THEN
    {insert new} INTO {t cells}(name, version, value) VALUES(p_name, 1, p_value) {or leave name};
    {changed o_done};
  ELSE
    UPDATE {t cells} SET version = version + 1, value = p_value WHERE name = p_name AND version = p_expected;
    {changed o_done};
  END IF;
  IF o_done = 1 THEN
    {insert new} INTO {t done}(id, taken, done, value, ends)
      VALUES(p_owner, 0, 1, 0, v_now + p_memory) {or leave id};
  ELSE
    -- The same exchange, sent before, may have been under way until now: then it is the one that was in the way.
    SELECT count(*) INTO o_done FROM {t done} WHERE id = p_owner;
  END IF;
  {use sweep}
)sql";

// Token 0 only asks.
const std::string_view admit_token = R"sql(
  {set} o_newest = NULL;
  SELECT newest INTO o_newest FROM {t fences} WHERE name = p_name;
  IF o_newest IS NULL AND p_token > 0 THEN
    {insert new} INTO {t fences}(name, newest) VALUES(p_name, p_token) {or leave name};
    {set} o_newest = 0;
  END IF;
  IF p_token > coalesce(o_newest, 0) THEN
    UPDATE {t fences} SET newest = p_token WHERE name = p_name AND newest < p_token;
    SELECT newest INTO o_newest FROM {t fences} WHERE name = p_name;
  END IF;
  {set} o_newest = coalesce(o_newest, 0);
)sql";

}  // namespace holdfast::sql::text
