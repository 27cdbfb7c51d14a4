#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/mariadb_server.hpp>

#include <gtest/gtest.h>
#include <mysql.hpp>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string refusal(const std::string& url) {
  try {
    static_cast<void>(connect(url));
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::rejected));
    return why.what();
  }
  return "it connected";
}

}  // namespace

TEST(mysql_schema, twenty_clients_that_start_at_once_make_the_tables_once) {
  const mariadb_server server;
  std::latch go(20);
  std::atomic<int> inside{0};
  std::atomic<int> total{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&] {
        go.arrive_and_wait();
        mutex m(connect(server.url(), {.connect_timeout = live_timeout}), "m");
        const std::scoped_lock guard(m);
        EXPECT_EQ(++inside, 1);
        ++total;
        --inside;
      });
    }
  }
  EXPECT_EQ(total, 20);
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast_meta"), "2");
}

TEST(mysql_schema, processes_that_start_at_once_make_the_tables_once) {
  const mariadb_server server;
  std::vector<holder_process> all;
  for (int i = 0; i < 6; ++i) all.emplace_back();
  for (auto& one : all) one.tell("connect " + server.url() + " ttl=30000");
  for (auto& one : all) ASSERT_EQ(one.reply(), "ok");
  for (auto& one : all) {
    one.granted("acquire mutex m");
    EXPECT_EQ(one.ask("release"), "ok");
  }
}

TEST(mysql_schema, who_may_make_no_tables_is_told_what_to_do_and_then_needs_no_such_right) {
  const mariadb_server server;
  server.query("CREATE USER app; GRANT USAGE ON *.* TO app");
  const std::string why = refusal(server.url("", "app"));
  EXPECT_NE(why.find("holdfast ddl mysql"), std::string::npos) << why;
  EXPECT_NE(why.find("1044"), std::string::npos) << why;
  server.query(sql::mysql::script({.prefix = "holdfast_"}, "app"));
  client c = connect(server.url("", "app"));
  mutex m(c, "m");
  lease held = m.acquire();
  EXPECT_TRUE(succeeded(held.renew()));
  mutex other(connect(server.url("", "app")), "m");
  auto waits = other.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(eventually([&] { return !c.inspect("m").empty() && c.inspect("m").front().waiters.size() == 1; }));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
  counting_semaphore s(c, "s");
  EXPECT_TRUE(s.try_set_permits(1));
  EXPECT_TRUE(s.try_acquire());
  EXPECT_TRUE(cell(c, "c").compare_exchange(0, "x"));
  EXPECT_TRUE(fence(c, "f").admit(fencing_token(7)));
}

TEST(mysql_schema, the_ddl_may_be_run_again_and_under_another_prefix) {
  const mariadb_server server;
  server.query(sql::mysql::script({.prefix = "holdfast_"}, ""));
  server.query(sql::mysql::script({.prefix = "holdfast_"}, ""));
  server.query(sql::mysql::script({.prefix = "other_"}, ""));
  mutex one(connect(server.url()), "m");
  mutex two(connect(server.url("?prefix=other_")), "m");
  const lease first = one.acquire();
  const lease second = two.acquire();
  EXPECT_TRUE(first.valid() && second.valid()) << "other tables are another store";
}

TEST(mysql_schema, newer_tables_are_left_alone) {
  const mariadb_server server;
  static_cast<void>(connect(server.url()));
  server.query("UPDATE holdfast_meta SET number = number + 1 WHERE what = 'version'");
  const std::string why = refusal(server.url());
  EXPECT_NE(why.find("newer Holdfast"), std::string::npos) << why;
}

TEST(mysql_schema, older_tables_are_brought_up_to_date) {
  const mariadb_server server;
  static_cast<void>(connect(server.url()));
  server.query("UPDATE holdfast_meta SET number = 0 WHERE what = 'version'; DROP PROCEDURE holdfast_renew_all");
  EXPECT_TRUE(succeeded(mutex(connect(server.url()), "m").acquire().renew()));
}

TEST(mysql_schema, tables_that_were_dropped_are_named_and_made_again_by_who_connects) {
  const mariadb_server server;
  client c = connect(server.url());
  mutex m(c, "m");
  const fencing_token before = m.acquire().token();
  server.query("DROP DATABASE holdfast; CREATE DATABASE holdfast");
  try {
    static_cast<void>(m.try_acquire());
    FAIL() << "there is no table";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::rejected)) << why.what();
  }
  mutex again(connect(server.url()), "m");
  EXPECT_GT(again.acquire().token(), before) << "tokens go on above";
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout})) << "the old client goes on too";
}

TEST(mysql_schema, a_row_is_kept_and_its_tokens_go_on) {
  const mariadb_server server;
  mutex m(connect(server.url()), "m");
  const fencing_token first = m.acquire().token();
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast_locks WHERE owner IS NULL"), "1");
  EXPECT_GT(m.acquire().token(), first);
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast_locks"), "1");
}

}  // namespace holdfast::testing
