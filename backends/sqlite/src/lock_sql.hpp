#pragma once

/// The statements of lock_table. ?1 is always the name.
///
/// Nothing here needs a temporary table: to make one and throw it away costs SQLite more than the rest of a short
/// statement together. RETURNING needs one; so what an UPDATE computed is told through noted(), a function of the
/// connection that keeps the values it is called with and returns the first.
namespace holdfast::sqlite::sql {

constexpr const char* find = R"sql(
SELECT kind, fence, owner, token, tokens, expires, since, session, capacity, shares, awaited, value
FROM lock WHERE name = ?1)sql";
constexpr const char* floor = "SELECT value FROM meta WHERE key = 'floor'";
constexpr const char* save = R"sql(
REPLACE INTO lock(name, kind, fence, owner, token, tokens, expires, since, session, capacity, shares, awaited, value)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13))sql";

// ?2 kind, ?3 owner, ?4 number of tokens, ?5 now, ?6 expiry, ?7 session. An exclusive holder whose time is over is as
// good as none; his engine has told him.
constexpr const char* take_free = R"sql(
UPDATE lock SET kind = ?2, owner = ?3, token = noted(fence + 1), tokens = ?4, fence = fence + ?4, since = ?5, expires = ?6,
                session = ?7
WHERE name = ?1 AND awaited = 0 AND shares = 0 AND value IS NULL AND (owner IS NULL OR expires <= ?5))sql";
// ?2 owner.
constexpr const char* leave_alone = "UPDATE lock SET owner = NULL WHERE name = ?1 AND owner = ?2 AND awaited = 0";

// ?2 owner. When nobody waits after all.
constexpr const char* leave_free = "UPDATE lock SET owner = NULL, awaited = 0 WHERE name = ?1 AND owner = ?2";
// From ?2 to ?3 with ?4 tokens; ?5 now, ?6 expiry, ?7 session.
constexpr const char* pass_on = R"sql(
UPDATE lock SET owner = ?3, token = noted(fence + 1, since), tokens = ?4, fence = fence + ?4, since = ?5, expires = ?6,
                session = ?7
WHERE name = ?1 AND owner = ?2)sql";

// ?2 owner, ?3 now, ?4 new expiry. What has ended stays ended: its lease was declared lost.
constexpr const char* extend = "UPDATE lock SET expires = ?4 WHERE name = ?1 AND owner = ?2 AND expires > ?3";
constexpr const char* extend_hold = "UPDATE hold SET expires = ?4 WHERE name = ?1 AND owner = ?2 AND expires > ?3";

// ?2 owner.
constexpr const char* hold = R"sql(
SELECT owner, token, tokens, permits, expires, since, session FROM hold WHERE name = ?1 AND owner = ?2)sql";
constexpr const char* holds = R"sql(
SELECT owner, token, tokens, permits, expires, since, session FROM hold WHERE name = ?1)sql";
constexpr const char* add_hold = R"sql(
INSERT INTO hold(name, owner, token, tokens, permits, expires, since, session)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8))sql";
constexpr const char* drop_hold = "DELETE FROM hold WHERE name = ?1 AND owner = ?2";
constexpr const char* drop_holds = "DELETE FROM hold WHERE name = ?1";

// ?2 ticket.
constexpr const char* first = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 ORDER BY ticket LIMIT 1)sql";
constexpr const char* first_two = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 ORDER BY ticket LIMIT 2)sql";
constexpr const char* last = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 ORDER BY ticket DESC LIMIT 1)sql";
constexpr const char* ticket = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 AND ticket = ?2)sql";
constexpr const char* before = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 AND ticket < ?2 ORDER BY ticket DESC LIMIT 1)sql";
constexpr const char* after = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 AND ticket > ?2 ORDER BY ticket LIMIT 1)sql";
constexpr const char* tickets = R"sql(
SELECT ticket, owner, access, permits, tokens, ttl, since, session, mailbox FROM queue
WHERE name = ?1 ORDER BY ticket)sql";
constexpr const char* add_ticket = R"sql(
INSERT INTO queue(name, ticket, owner, access, permits, tokens, ttl, since, session, mailbox)
VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))sql";
// As add_ticket, but ?2 now; behind the last in line for a lock that somebody holds as ?11 with capacity ?12. If there
// is no such line, the ticket is NULL, and nothing is inserted.
constexpr const char* join_line = R"sql(
INSERT OR IGNORE INTO queue(name, ticket, owner, access, permits, tokens, ttl, since, session, mailbox)
VALUES(?1, (SELECT noted(max(?2, q.ticket + 1), q.session, q.ttl)
            FROM lock AS l CROSS JOIN queue AS q
            WHERE l.name = ?1 AND l.awaited AND (l.owner IS NOT NULL OR l.shares > 0) AND l.kind = ?11
                  AND l.capacity = ?12 AND q.name = ?1
            ORDER BY q.ticket DESC LIMIT 1),
       ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))sql";
constexpr const char* move_ticket = "UPDATE queue SET mailbox = ?3 WHERE name = ?1 AND ticket = ?2";
constexpr const char* drop_ticket = "DELETE FROM queue WHERE name = ?1 AND ticket = ?2";
constexpr const char* drop_tickets = "DELETE FROM queue WHERE name = ?1";

// Names from ?1 on, in order: the caller stops where the prefix ends.
constexpr const char* used_names = R"sql(
SELECT name FROM lock WHERE name >= ?1 AND (owner IS NOT NULL OR shares > 0 OR awaited) ORDER BY name)sql";

// Idle names among the next ?3 after ?1 that nobody took since ?2; where that ended.
constexpr const char* idle = R"sql(
SELECT name, fence, owner IS NULL AND shares = 0 AND awaited = 0 AND value IS NULL AND since < ?2
FROM lock WHERE name > ?1 ORDER BY name LIMIT ?3)sql";
constexpr const char* forget = "DELETE FROM lock WHERE name = ?1";
constexpr const char* raise_floor = "UPDATE meta SET value = max(value, ?1) WHERE key = 'floor'";

}  // namespace holdfast::sqlite::sql
