#include "doctor.hpp"

#include "mysql.hpp"
#include "shedlock_table.hpp"

#include <cstdlib>

namespace holdfast::mysql {

namespace {

using namespace std::chrono_literals;
using level = finding::level;

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
  void sharing();

 private:
  void add(level how, std::string text) { found_.push_back({how, std::move(text)}); }
  std::string text(std::string_view name) const {
    const auto found = seen_.said.find(name);
    return found == seen_.said.end() ? std::string() : found->second;
  }
  std::int64_t number(std::string_view name) const { return std::atoll(text(name).c_str()); }
  bool on(std::string_view name) const { return text(name) == "ON" || text(name) == "1"; }

  const symptoms& seen_;
  const sql::layout& which_;
  std::vector<finding> found_;
};

void report::version() {
  const bool mariadb = text("version").find("MariaDB") != std::string::npos;
  const std::string named = mariadb ? "MariaDB " + text("version") : "MySQL " + text("version");
  const int major = std::atoi(text("version").c_str());
  const auto dot = text("version").find('.');
  const int minor = dot == std::string::npos ? 0 : std::atoi(text("version").c_str() + dot + 1);
  const bool old = mariadb ? major < 10 || (major == 10 && minor < 6) : major < 8;
  if (old)
    return add(level::warning, named + " gets no more corrections, and Holdfast is not tested with it; update it");
  add(level::fact,
      named + ", tables of version " + text("tables") + " with names that begin with '" + which_.prefix + "'");
}

void report::writable() {
  if (on("read_only") || on("super_read_only"))
    add(level::danger, "the server is read-only: locks are refused (1290); name the one that can be written to");
  if (on("log_bin") && text("binlog_format") == "STATEMENT")
    add(level::danger, "binlog_format is STATEMENT: locks are refused (1665); set it to MIXED or ROW");
}

void report::durability() {
  const std::string flush = text("innodb_flush_log_at_trx_commit");
  if (flush == "1")
    return add(level::fact,
               "innodb_flush_log_at_trx_commit is 1: a lock that was granted survives a crash of the server");
  add(level::warning,
      "innodb_flush_log_at_trx_commit is " + flush + ": a crash of the " + (flush == "2" ? "machine" : "server") +
          " forgets the locks of its last second, and a second holder gets in; tokens go on above, so a "
          "fence catches the first; set it to 1");
}

void report::replicas() {
  const auto count = number("replicas");
  if (count == 0) return;
  if (on("rpl_semi_sync_master_enabled") || on("rpl_semi_sync_source_enabled"))
    return add(level::fact,
               "replication is semi-synchronous: a lock that was granted survives the loss of the primary, as long as "
               "it has not fallen back to asynchronous replication");
  add(level::warning, "replication to " + std::to_string(count) +
                          " replica is asynchronous: its promotion forgets the latest locks, and a second holder gets "
                          "in; tokens go on above, so a fence catches the first; use semi-synchronous replication");
}

void report::clock() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto off = std::chrono::abs(seen_.ahead);
  if (off > seen_.doubt + 1s)
    return add(level::warning,
               "the server's clock and ours are " + std::to_string(duration_cast<milliseconds>(off).count()) +
                   " ms apart: leases follow the server's, and are right; but one of them is set badly, and a clock "
                   "that is put right with a jump ends leases early or late; run NTP or chrony");
  add(level::fact, "leases are counted on the server's clock, which agrees with ours");
}

void report::connections() {
  const auto used = number("connections");
  const auto most = number("max_connections");
  if (most > 0 && used * 10 >= most * 9)
    add(level::warning, std::to_string(used) + " of max_connections " + std::to_string(most) +
                            " are in use: a client that must connect again will be refused (1040); raise it");
}

void report::sharing() {
  if (!which_.shares()) return;
  sql::judge_shedlock(number("ahead"), which_.shown_table(), found_);
  if (const auto equal = text("collation"); !equal.empty() && !equal.ends_with("_bin") && equal != "binary")
    add(level::fact, "names in ShedLock's table that " + equal +
                         " takes for equal are one lock, as they are to ShedLock: case does not tell them apart");
}

/// How many locks of ShedLock's were taken later than it is, and the collation of their names.
std::string shared_question(const sql::layout& which) {
  if (!which.shares()) return "";
  const std::string schema = which.schema.empty() ? "DATABASE()" : "'" + which.schema + "'";
  return " UNION ALL SELECT 'ahead', count(*) FROM " + sql::mysql::table(which, "shedlock") +
         " WHERE locked_at > UTC_TIMESTAMP(3) + INTERVAL 2 SECOND UNION ALL SELECT 'collation', collation_name FROM "
         "information_schema.columns WHERE table_schema = " +
         schema + " AND table_name = '" + which.shedlock + "' AND column_name = 'name'";
}

}  // namespace

std::string question(const sql::layout& which) {
  return "SELECT 'tables', number FROM " + sql::mysql::table(which, "meta") +
         " WHERE what LIKE 'version%' UNION ALL SELECT 'clock', CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) "
         "UNION "
         "ALL SELECT 'replicas', count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' UNION "
         "ALL SELECT 'connections', count(*) FROM information_schema.processlist" +
         shared_question(which);
}

std::vector<finding> judge(const symptoms& seen, const sql::layout& which) {
  report all(seen, which);
  all.version();
  all.writable();
  all.durability();
  all.replicas();
  all.clock();
  all.connections();
  all.sharing();
  return std::move(all).take();
}

}  // namespace holdfast::mysql
