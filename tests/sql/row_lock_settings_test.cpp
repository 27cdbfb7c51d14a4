// A lock in the caller's transaction leaves the caller's settings as they were.
#include "database.hpp"

namespace holdfast::testing {
namespace {

using namespace std::chrono_literals;

struct setting {
  std::string session;      ///< Said before the transaction.
  std::string transaction;  ///< Said in it, before the lock.
  std::string during;       ///< What holds then, in the server's words, ...
  std::string after;        ///< ... and after COMMIT.
};

class row_lock_settings : public on_database {
 protected:
  void check(const std::vector<setting>& all, const std::string& question) {
    make_tables();
    const auto holder = db->connect();
    sql::run(*holder, "BEGIN");
    sql::acquire_in_transaction(*holder, "held");
    for (const auto& one : all) {
      for (const char* name : {"free", "held"}) {
        SCOPED_TRACE(one.session + " / " + one.transaction + " / " + name);
        const auto in = db->connect();
        if (!one.session.empty()) sql::run(*in, one.session);
        sql::run(*in, "BEGIN");
        if (!one.transaction.empty()) sql::run(*in, one.transaction);
        EXPECT_EQ(text(*in, question), one.during) << "before";
        EXPECT_EQ(sql::try_acquire_in_transaction(*in, name, {.wait = 30ms}).has_value(), name == std::string("free"));
        EXPECT_EQ(text(*in, question), one.during);
        sql::run(*in, "COMMIT");
        EXPECT_EQ(text(*in, question), one.after);
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(sql, row_lock_settings, ::testing::Values("postgresql", "mariadb", "mysql"),
                         [](const auto& one) { return one.param; });

TEST_P(row_lock_settings, are_what_they_were) {
  if (db->postgresql()) {
    check(
        {
            {"", "", "0 0", "0 0"},
            {"SET lock_timeout = '5s'", "", "5s 0", "5s 0"},
            {"SET statement_timeout = 90000", "", "0 90s", "0 90s"},
            {"SET lock_timeout = 1500", "SET LOCAL lock_timeout = '2min'", "2min 0", "1500ms 0"},
            {"", "SET LOCAL statement_timeout = 12345", "0 12345ms", "0 0"},
            {"SET lock_timeout = '3s'", "SET lock_timeout = '7s'", "7s 0", "7s 0"},
            {"", "SET statement_timeout = '1h'", "0 1h", "0 1h"},
        },
        "SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')");
    return;
  }
  check(
      {
          {"", "", "50 0.000000", "50 0.000000"},
          {"SET SESSION innodb_lock_wait_timeout = 7", "", "7 0.000000", "7 0.000000"},
          {"SET SESSION max_statement_time = 12.5", "", "50 12.500000", "50 12.500000"},
          {"", "SET SESSION innodb_lock_wait_timeout = 3, max_statement_time = 9", "3 9.000000", "3 9.000000"},
      },
      "SELECT CONCAT(@@SESSION.innodb_lock_wait_timeout, ' ', @@SESSION.max_statement_time)");
}

TEST_P(row_lock_settings, survive_what_goes_wrong) {
  const auto in = db->connect();
  const std::string question =
      db->postgresql() ? "SELECT current_setting('lock_timeout')" : "SELECT @@SESSION.innodb_lock_wait_timeout";
  sql::run(*in, db->postgresql() ? "SET lock_timeout = '9s'" : "SET SESSION innodb_lock_wait_timeout = 9");
  const std::string before = text(*in, question);
  sql::run(*in, "BEGIN");
  ASSERT_TRUE(error_of([&] { sql::acquire_in_transaction(*in, "no tables", {.wait = 1s}); }));
  EXPECT_EQ(text(*in, question), before);
}

}  // namespace
}  // namespace holdfast::testing
