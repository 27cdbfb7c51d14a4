#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>
#include <postgresql.hpp>

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

TEST(postgres_schema, twenty_clients_that_start_at_once_make_the_tables_once) {
  const postgres_server server;
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
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast.meta"), "1");
}

TEST(postgres_schema, processes_that_start_at_once_make_the_tables_once) {
  const postgres_server server;
  std::vector<holder_process> all;
  for (int i = 0; i < 6; ++i) all.emplace_back();
  for (auto& one : all) one.tell("connect " + server.url() + " ttl=30000");
  for (auto& one : all) ASSERT_EQ(one.reply(), "ok");
  for (auto& one : all) {
    one.granted("acquire mutex m");
    EXPECT_EQ(one.ask("release"), "ok");
  }
}

TEST(postgres_schema, who_may_make_no_tables_is_told_what_to_do_and_then_needs_no_such_right) {
  const postgres_server server;
  server.query("CREATE ROLE app LOGIN");
  const std::string why = refusal(server.url("", "app"));
  EXPECT_NE(why.find("holdfast ddl postgresql"), std::string::npos) << why;
  EXPECT_NE(why.find("42501"), std::string::npos) << why;
  server.query(sql::postgresql::script({.schema = "holdfast"}, "app"));
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

TEST(postgres_schema, the_ddl_may_be_run_again_and_in_another_schema) {
  const postgres_server server;
  server.query(sql::postgresql::script({.schema = "holdfast"}, ""));
  server.query(sql::postgresql::script({.schema = "holdfast"}, ""));
  server.query(sql::postgresql::script({.schema = "My \"locks"}, ""));
  server.query(sql::postgresql::script({.schema = "x$holdfast$; SELECT 1/0; --"}, ""));
  EXPECT_TRUE(mutex(connect(server.url("?schema=x%24holdfast%24%3B%20SELECT%201%2F0%3B%20--")), "m").try_acquire());
  mutex one(connect(server.url()), "m");
  mutex two(connect(server.url("?schema=My%20%22locks")), "m");
  const lease first = one.acquire();
  const lease second = two.acquire();
  EXPECT_TRUE(first.valid() && second.valid()) << "two schemas are two stores";
}

TEST(postgres_schema, newer_tables_are_left_alone) {
  const postgres_server server;
  static_cast<void>(connect(server.url()));
  server.query("UPDATE holdfast.meta SET number = number + 1");
  const std::string why = refusal(server.url());
  EXPECT_NE(why.find("newer Holdfast"), std::string::npos) << why;
}

TEST(postgres_schema, older_tables_are_brought_up_to_date) {
  const postgres_server server;
  static_cast<void>(connect(server.url()));
  server.query("UPDATE holdfast.meta SET number = 0; DROP FUNCTION holdfast.renew_all");
  EXPECT_TRUE(succeeded(mutex(connect(server.url()), "m").acquire().renew()));
}

TEST(postgres_schema, tables_that_were_dropped_are_named_and_made_again_by_who_connects) {
  const postgres_server server;
  client c = connect(server.url());
  mutex m(c, "m");
  const fencing_token before = m.acquire().token();
  server.query("DROP SCHEMA holdfast CASCADE");
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

TEST(postgres_schema, a_row_is_kept_and_its_tokens_go_on) {
  const postgres_server server;
  mutex m(connect(server.url()), "m");
  const fencing_token first = m.acquire().token();
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast.locks WHERE owner IS NULL"), "1");
  EXPECT_GT(m.acquire().token(), first);
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast.locks"), "1");
}

}  // namespace holdfast::testing
