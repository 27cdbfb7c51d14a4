#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Servers that are set up badly on purpose, each in one way.

namespace holdfast::testing {

using level = finding::level;

namespace {

::testing::AssertionResult found(level how, const std::string& words, const std::string& url) {
  std::string text;
  for (const auto& one : connect(url).examine()) {
    if (one.how == how && one.text.find(words) != std::string::npos) return ::testing::AssertionSuccess();
    text += std::string(to_string(one.how)) + ": " + one.text + "\n";
  }
  return ::testing::AssertionFailure() << "no " << to_string(how) << " with '" << words << "' in\n" << text;
}

const std::vector<std::string> good{"fsync=on", "synchronous_commit=on"};

}  // namespace

TEST(postgres_doctor, a_good_server_has_nothing_but_facts) {
  const postgres_server server(good);
  const auto all = connect(server.url()).examine();
  EXPECT_GE(all.size(), 4u);
  for (const auto& one : all) EXPECT_EQ(one.how, level::fact) << one.text;
}

TEST(postgres_doctor, what_ends_sessions_that_hold) {
  const postgres_server server(good);
  EXPECT_TRUE(found(level::fact, "idle_session_timeout, set per session", server.url("?scheme=session")));
}

TEST(postgres_doctor, commits_that_do_not_wait_for_the_disk) {
  const postgres_server server({"fsync=off", "synchronous_commit=off"});
  EXPECT_TRUE(found(level::danger, "fsync is off", server.url()));
  EXPECT_TRUE(found(level::warning, "synchronous_commit is off", server.url()));
}

TEST(postgres_doctor, transactions_that_are_read_only) {
  const postgres_server server(good);
  static_cast<void>(connect(server.url()));
  server.query("ALTER ROLE postgres SET default_transaction_read_only = on");
  EXPECT_TRUE(found(level::danger, "read-only", server.url()));
}

TEST(postgres_doctor, a_missing_right) {
  const postgres_server server(good);
  static_cast<void>(connect(server.url()));
  server.query("CREATE ROLE app LOGIN; GRANT USAGE ON SCHEMA holdfast TO app; GRANT SELECT ON holdfast.meta TO app");
  EXPECT_TRUE(found(level::danger, "holdfast ddl postgresql", server.url("", "app")));
  server.query("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA holdfast TO app");
  EXPECT_TRUE(found(level::fact, "every right", server.url("", "app")));
  server.query("REVOKE UPDATE ON holdfast.done FROM app");
  EXPECT_TRUE(found(level::danger, "holdfast ddl postgresql", server.url("", "app"))) << "one is enough";
}

TEST(postgres_doctor, autovacuum_that_is_off_and_connections_that_are_used_up) {
  const postgres_server server(
      {"autovacuum=off", "max_connections=10", "superuser_reserved_connections=0", "idle_session_timeout=60000"});
  EXPECT_TRUE(found(level::warning, "autovacuum is off", server.url()));
  EXPECT_TRUE(found(level::fact, "idle_session_timeout", server.url()));
  ASSERT_TRUE(eventually([&] {
    return server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'") == "0";
  }));
  // These, the one that asks and its question: nine.
  std::vector<client> others;
  for (int i = 0; i < 7; ++i) others.push_back(connect(server.url()));
  EXPECT_TRUE(found(level::warning, "max_connections", server.url()));
}

}  // namespace holdfast::testing
