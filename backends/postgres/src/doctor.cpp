#include "doctor.hpp"

#include "postgresql.hpp"
#include "shedlock_table.hpp"
#include "tables.hpp"

#include <charconv>
#include <cstdlib>

namespace holdfast::postgres {

namespace {

using namespace std::chrono_literals;
using level = finding::level;

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

/// Every right on every table: asked for several at once the server says yes if there is any.
std::string may_write(const sql::layout& which) {
  std::string all;
  const auto add = [&](std::string_view table, std::string_view right) {
    all += (all.empty() ? "has_table_privilege(" : " AND has_table_privilege(") +
           literal(sql::postgresql::table(which, table)) + ", '" + std::string(right) + "')";
  };
  for (const auto& t : sql::tables_of(which)) {
    if (t.name == "meta") continue;  // which was read already
    for (const char* right : {"SELECT", "INSERT", "UPDATE", "DELETE"}) add(t.name, right);
  }
  if (which.shares())
    for (const char* right : {"SELECT", "INSERT", "UPDATE"}) add("shedlock", right);
  return all;
}

/// The tables that grow, as a list of their numbers.
std::string numbers(const sql::layout& which) {
  std::string all = which.shares() ? "to_regclass(" + literal(sql::postgresql::table(which, "shedlock")) + ")" : "";
  for (const auto& t : sql::tables_of(which))
    all += (all.empty() ? "to_regclass(" : ", to_regclass(") + literal(sql::postgresql::table(which, t.name)) + ")";
  return all;
}

/// How many locks of ShedLock's were taken later than it is.
std::string ahead(const sql::layout& which) {
  if (!which.shares()) return "0";
  return "(SELECT count(*) FROM " + sql::postgresql::table(which, "shedlock") +
         " WHERE locked_at > timezone('utc', clock_timestamp()) + interval '2 seconds')";
}

/// The findings so far, and what they are taken from.
class report {
 public:
  report(const symptoms& seen, const sql::layout& which) : seen_(seen), which_(which) {}

  std::vector<finding> take() && { return std::move(found_); }

  void version();
  void writable();
  void durability();
  void replicas();
  void clock();
  void connections();
  void pooler();
  void rights();
  void bloat();
  void sharing() {
    if (which_.shares()) sql::judge_shedlock(number("ahead"), which_.shown_table(), found_);
  }

 private:
  void add(level how, std::string text) { found_.push_back({how, std::move(text)}); }
  std::string text(std::string_view name) const {
    const auto found = seen_.said.find(name);
    return found == seen_.said.end() ? std::string() : found->second;
  }
  std::int64_t number(std::string_view name) const { return std::atoll(text(name).c_str()); }
  bool on(std::string_view name) const { return text(name) == "on" || text(name) == "t"; }

  const symptoms& seen_;
  const sql::layout& which_;
  std::vector<finding> found_;
};

void report::version() {
  const std::string named = "PostgreSQL " + text("version");
  if (number("version_number") < 110000)
    add(level::warning, named + " gets no more corrections, and Holdfast is not tested with it; update it");
  else
    add(level::fact, named + ", tables of version " + text("tables") + " in schema '" + which_.schema + "'");
}

void report::writable() {
  if (on("standby"))
    return add(level::danger,
               "the server is a standby: it refuses locks (25006); name its primary in the URL, or all of them");
  if (on("read_only"))
    add(level::danger,
        "transactions are read-only by default: locks are refused (25006); set default_transaction_read_only off for "
        "this user");
}

void report::durability() {
  if (!on("fsync"))
    add(level::danger,
        "fsync is off: after a crash of the machine the database may be corrupt, and locks with it; set fsync on");
  const std::string sync = text("synchronous_commit");
  if (sync == "off")
    add(level::warning,
        "synchronous_commit is off: a crash of the server forgets the locks of its last moments (up to three "
        "wal_writer_delay), and a second holder gets in; tokens go on above, so a fence catches the first; set it on");
  else if (on("fsync"))
    add(level::fact, "synchronous_commit " + sync + ": a lock that was granted survives a crash of the server");
}

void report::replicas() {
  const std::string names = text("synchronous_standby_names");
  const auto count = number("replicas");
  if (!names.empty() && text("synchronous_commit") != "off" && text("synchronous_commit") != "local")
    return add(level::fact, "synchronous standbys (" + names +
                                "): a lock that was granted survives the loss of the "
                                "primary, if one of them is promoted");
  if (count > 0)
    add(level::warning, "replication to " + std::to_string(count) +
                            " standby is asynchronous: its promotion forgets the latest locks, and a second holder "
                            "gets in; tokens go on above, so a fence catches the first; set synchronous_standby_names");
}

void report::clock() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto off = std::chrono::abs(seen_.ahead);
  if (off > seen_.doubt + 1s)
    add(level::warning,
        "the server's clock and ours are " + std::to_string(duration_cast<milliseconds>(off).count()) +
            " ms apart: leases follow the server's, and are right; but one of them is set badly, and a clock that is "
            "put right with a jump ends leases early or late; run NTP or chrony");
  else
    add(level::fact, "leases are counted on the server's clock, which agrees with ours");
}

void report::connections() {
  const auto used = number("connections");
  const auto most = number("max_connections");
  if (most > 0 && used * 10 >= most * 9)
    add(level::warning, std::to_string(used) + " of max_connections " + std::to_string(most) +
                            " are in use: a client that must connect again will be refused (53300); raise it");
  if (const auto idle = text("idle_session_timeout"); !idle.empty() && idle != "0")
    add(level::fact, "idle_session_timeout is " + idle + " ms; Holdfast switches it off for its own connections");
}

void report::pooler() {
  if (!seen_.pooled) return;
  add(level::fact,
      "something stands between us and the server (PgBouncer or the like), and gives each client a session of its own; "
      "leave it so (pool_mode=session), and leave room for up to six server connections per client");
}

void report::rights() {
  if (text("may_write") == "f" || text("may_call") == "f")
    add(level::danger, "the user lacks rights on schema '" + which_.schema +
                           "': locks are refused (42501); let a DBA run what `holdfast ddl postgresql --role USER` "
                           "prints");
  else
    add(level::fact, "the user has every right it needs");
}

void report::bloat() {
  const auto dead = number("dead_rows");
  const auto live = number("live_rows");
  if (dead > 100'000 && dead > 10 * live)
    add(level::warning, "the tables have " + std::to_string(dead) + " dead rows beside " + std::to_string(live) +
                            ": every lock takes longer; is autovacuum off, or is a transaction left open for long? "
                            "VACUUM helps at once");
  if (!on("autovacuum"))
    add(level::warning, "autovacuum is off: the tables grow with every lock that is taken; set autovacuum on");
}

}  // namespace

std::string question(const sql::layout& which) {
  const std::string ours = literal(which.schema);
  return "SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS "
         "version_number, pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') AS "
         "read_only, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit, "
         "current_setting('synchronous_standby_names') AS synchronous_standby_names, current_setting('autovacuum') AS "
         "autovacuum, current_setting('max_connections') AS max_connections, "
         "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections, "
         "(SELECT count(*) FROM pg_stat_replication) AS replicas, "
         "(SELECT reset_val FROM pg_settings WHERE name = 'idle_session_timeout') AS idle_session_timeout, "
         "(SELECT number FROM " +
         sql::postgresql::table(which, "meta") +
         " WHERE what = 'version') AS tables, (SELECT sum(n_dead_tup) FROM pg_stat_user_tables WHERE relid IN (" +
         numbers(which) + ")) AS dead_rows, (SELECT sum(n_live_tup) FROM pg_stat_user_tables WHERE relid IN (" +
         numbers(which) + ")) AS live_rows, " + ahead(which) + " AS ahead, " + may_write(which) +
         " AS may_write, has_schema_privilege(" + ours +
         ", 'USAGE') AND (SELECT coalesce(bool_and(has_function_privilege(p.oid, 'EXECUTE')), true) FROM pg_proc p "
         "JOIN "
         "pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = " +
         ours + " AND starts_with(p.proname, " + literal(which.prefix) +
         ")) AS may_call, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock, "
         "pg_backend_pid() AS pid";
}

std::vector<finding> judge(const symptoms& seen, const sql::layout& which) {
  report all(seen, which);
  all.version();
  all.writable();
  all.durability();
  all.replicas();
  all.clock();
  all.connections();
  all.pooler();
  all.rights();
  all.bloat();
  all.sharing();
  return std::move(all).take();
}

}  // namespace holdfast::postgres
