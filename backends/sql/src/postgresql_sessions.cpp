#include "postgresql.hpp"
#include "routines.hpp"

#include <array>
#include <utility>

// Locks that sessions hold, on PostgreSQL. The advisory lock is what excludes; the record in the tables is for tokens,
// for other kinds and other schemes on the same name, and for those who look.

namespace holdfast::sql::postgresql {

namespace {

// A key is one number of 64 bits (p_form 1: p_high) or a pair of 32 (p_form 2): the server keeps the two apart.
constexpr std::string_view key = "p_form bigint, p_high bigint, p_low bigint";

struct text_of {
  std::string_view name;
  std::string_view takes;
  std::string_view gives;
  std::string_view body;
};

// @ is the schema; ENTRY stands for the parameters of `enter`, {turn} for the numbers of turn().
constexpr std::array all{
    text_of{"unlock_key", "KEY, p_access bigint", "RETURNS boolean", R"sql(
BEGIN
  IF p_form = 1 THEN
    RETURN CASE WHEN p_access = 1 THEN pg_advisory_unlock(p_high) ELSE pg_advisory_unlock_shared(p_high) END;
  END IF;
  RETURN CASE WHEN p_access = 1 THEN pg_advisory_unlock(p_high::int, p_low::int)
    ELSE pg_advisory_unlock_shared(p_high::int, p_low::int) END;
END)sql"},
    text_of{"try_key", "KEY, p_access bigint", "RETURNS boolean", R"sql(
BEGIN
  IF p_form = 1 THEN
    RETURN CASE WHEN p_access = 1 THEN pg_try_advisory_lock(p_high) ELSE pg_try_advisory_lock_shared(p_high) END;
  END IF;
  RETURN CASE WHEN p_access = 1 THEN pg_try_advisory_lock(p_high::int, p_low::int)
    ELSE pg_try_advisory_lock_shared(p_high::int, p_low::int) END;
END)sql"},
    // However long it takes: who waits is cancelled if it is to end.
    text_of{"wait_for_key", "KEY, p_access bigint", "RETURNS void", R"sql(
DECLARE
  v_before text = current_setting('lock_timeout');
BEGIN
  PERFORM set_config('lock_timeout', '0', true);
  IF p_form = 1 AND p_access = 1 THEN
    PERFORM pg_advisory_lock(p_high);
  ELSIF p_form = 1 THEN
    PERFORM pg_advisory_lock_shared(p_high);
  ELSIF p_access = 1 THEN
    PERFORM pg_advisory_lock(p_high::int, p_low::int);
  ELSE
    PERFORM pg_advisory_lock_shared(p_high::int, p_low::int);
  END IF;
  PERFORM set_config('lock_timeout', v_before, true);
END)sql"},
    // Who has the lock, in whatever mode, knows that no session has it alone; and who has it alone, that no other
    // session has it at all: records that say so are of sessions that have ended.
    text_of{"bury_sessions", "p_name bytea, p_access bigint, p_owner bytea", "RETURNS boolean", R"sql(
DECLARE
  v_n bigint;
  v_any boolean = false;
BEGIN
  PERFORM pg_advisory_xact_lock{turn};
  PERFORM 1 FROM @.locks WHERE name = p_name FOR UPDATE;
  UPDATE @.locks SET owner = NULL WHERE name = p_name AND owner <> p_owner AND client < 0;
  v_any = FOUND;
  DELETE FROM @.holds WHERE name = p_name AND client < 0 AND owner <> p_owner
    AND (p_access = 1 OR pg_try_advisory_xact_lock_shared(client));
  IF FOUND THEN
    v_any = true;
    UPDATE @.locks SET shares = coalesce((SELECT sum(permits) FROM @.holds WHERE name = p_name), 0)
      WHERE name = p_name;
  END IF;
  RETURN v_any;
END)sql"},
    // p_mode: 0 tries, 1 waits, 2 looks whether a reader would be let in: only the record stays. p_time: of the
    // session.
    text_of{"hold", "KEY, p_mode bigint, p_time bigint, ENTRY",
            "OUT o_what bigint, OUT o_token bigint, OUT o_tokens bigint, OUT o_left bigint, OUT o_now bigint", R"sql(
DECLARE
  v_got record;
BEGIN
  IF p_time >= 0 AND current_setting('idle_session_timeout', true) IS NOT NULL
    AND set_config('idle_session_timeout', p_time::text, false) IS NULL THEN
    NULL;
  END IF;
  IF NOT (CASE WHEN p_mode <> 2 THEN @.try_key(p_form, p_high, p_low, p_access)
      WHEN p_form = 1 THEN pg_try_advisory_xact_lock_shared(p_high)
      ELSE pg_try_advisory_xact_lock_shared(p_high::int, p_low::int) END) THEN
    o_what = 0;
    o_tokens = 0;
    o_left = -1;
    o_now = 0;
    -- In use as something else: to wait would not help.
    SELECT 2, kind INTO v_got FROM @.locks WHERE name = p_name AND kind <> p_kind AND kind <= 3
      AND ((owner IS NOT NULL AND client < 0 AND NOT pg_try_advisory_xact_lock_shared(client))
        OR EXISTS(SELECT 1 FROM @.holds h WHERE h.name = p_name AND h.client < 0
          AND NOT pg_try_advisory_xact_lock_shared(h.client)));
    IF FOUND THEN
      o_what = 2;
      o_token = v_got.kind;
      RETURN;
    END IF;
    IF p_mode <> 1 THEN
      RETURN;
    END IF;
    PERFORM @.wait_for_key(p_form, p_high, p_low, p_access);
  END IF;
  v_got = @.enter(ARGUMENTS);
  IF v_got.o_what <> 1 THEN
    -- Or of one that has given it up a moment ago, and has not committed that yet: this waits for it.
    PERFORM @.bury_sessions(p_name, p_access, p_owner);
    v_got = @.enter(ARGUMENTS);
  END IF;
  o_what = v_got.o_what;
  o_token = v_got.o_token;
  o_tokens = v_got.o_tokens;
  o_left = v_got.o_left;
  o_now = v_got.o_now;
  IF o_what <> 1 AND p_mode <> 2 THEN
    PERFORM @.unlock_key(p_form, p_high, p_low, p_access);
  END IF;
END)sql"},
    // p_access: 0: whatever it has; 3: only the record ends.
    text_of{"drop_hold", "KEY, p_access bigint, p_name bytea, p_owner bytea", "OUT o_done bigint", R"sql(
BEGIN
  o_done = @.leave(p_name, p_owner);
  IF p_access = 0 THEN
    PERFORM @.unlock_key(p_form, p_high, p_low, 1), @.unlock_key(p_form, p_high, p_low, 2);
  ELSIF p_access <> 3 AND NOT @.unlock_key(p_form, p_high, p_low, p_access) THEN
    RAISE EXCEPTION 'the session does not hold the lock';
  END IF;
END)sql"},
    // Whoever has it alone gets it for readers at once, before all who wait. The other way, if nobody else has it or
    // waits.
    text_of{"convert_hold", "KEY, p_name bytea, p_owner bytea, p_access bigint", "OUT o_done bigint", R"sql(
BEGIN
  IF p_access = 2 THEN
    PERFORM @.wait_for_key(p_form, p_high, p_low, 2);
  ELSIF NOT @.try_key(p_form, p_high, p_low, 1) THEN
    o_done = 0;
    RETURN;
  ELSE
    PERFORM @.bury_sessions(p_name, 1, p_owner);
  END IF;
  o_done = @.convert(p_name, p_owner, p_access, 0);
  PERFORM @.unlock_key(p_form, p_high, p_low, CASE WHEN o_done = 1 THEN 3 - p_access ELSE p_access END);
END)sql"},
    // Once it is in the server's line, and not before.
    text_of{"note_wait",
            "p_name bytea, p_owner bytea, p_kind bigint, p_access bigint, p_lasts bigint, p_client bigint, p_holder "
            "bytea, p_process bigint",
            "OUT o_done bigint", R"sql(
DECLARE
  v_now bigint = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
BEGIN
  o_done = (SELECT count(*) FROM pg_locks WHERE pid = p_process AND NOT granted);
  IF o_done = 0 THEN
    RETURN;
  END IF;
  INSERT INTO @.waiting(name, owner, kind, access, since, client, holder)
    VALUES(p_name, p_owner, p_kind, p_access, v_now - p_lasts, p_client, p_holder) ON CONFLICT DO NOTHING;
  IF mod(v_now, 64) = 0 THEN
    DELETE FROM @.waiting WHERE pg_try_advisory_xact_lock_shared(client);
  END IF;
END)sql"},
    text_of{"lockers", "KEY", "RETURNS SETOF integer", R"sql(
BEGIN
  RETURN QUERY SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_backend_pid()
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.objsubid = p_form
    AND l.classid::bigint = (CASE WHEN p_form = 1 THEN (p_high >> 32) ELSE p_high END & 4294967295)
    AND l.objid::bigint = (CASE WHEN p_form = 1 THEN p_high ELSE p_low END & 4294967295);
END)sql"},
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string_view spelt(type holds) { return holds == type::number ? "bigint" : "bytea"; }

}  // namespace

std::vector<std::string> session_routines(const layout& which) {
  std::string takes;
  std::string names;
  for (const variable& v : routine_called("enter", which).takes) {
    const std::string comma = names.empty() ? "" : ", ";
    takes += comma + std::string(v.name) + " " + std::string(spelt(v.holds));
    names += comma + std::string(v.name);
  }
  std::vector<std::string> texts;
  for (const auto& one : all) {
    const auto parameters = replaced(replaced(std::string(one.takes), "KEY", key), "ENTRY", takes);
    const bool out = one.gives.starts_with("OUT");
    auto body = replaced(std::string(one.body), "ARGUMENTS", names);
    body = replaced(replaced(body, "@", quoted(which.schema)), "{turn}", turn(which, "p_name"));
    texts.push_back("CREATE OR REPLACE FUNCTION " + quoted(which.schema) + "." + std::string(one.name) + "(" +
                    parameters + (out ? ", " + std::string(one.gives) + ")" : ") " + std::string(one.gives)) +
                    " LANGUAGE plpgsql AS " + dollar_quoted(body + " "));
  }
  return texts;
}

}  // namespace holdfast::sql::postgresql
