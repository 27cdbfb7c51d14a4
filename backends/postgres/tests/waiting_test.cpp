#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

// Who waits, and how it is told.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

bool waits(const client& c, const std::string& name, std::size_t how_many) {
  return eventually([&] {
    const auto all = c.inspect(name);
    return !all.empty() && all.front().waiters.size() == how_many;
  });
}

}  // namespace

TEST(postgres_waiting, a_client_that_never_waits_has_one_connection) {
  const postgres_server server;
  mutex m(connect(server.url()), "m");
  for (int i = 0; i < 3; ++i) {
    lease held = m.acquire();
    EXPECT_TRUE(succeeded(held.renew()));
  }
  EXPECT_EQ(server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'"), "1");
}

TEST(postgres_waiting, a_handover_costs_the_receiver_no_statement) {
  const postgres_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url("?application_name=theirs")), "m");
  // The first in line looks every second: one such look may come in between, but not every time.
  const auto untold = [&] {
    lease held = ours.acquire();
    auto next = theirs.async_acquire({.wait = live_timeout});
    EXPECT_TRUE(waits(watcher, "m", 1));
    const std::string then = server.query("SELECT clock_timestamp()");
    EXPECT_TRUE(succeeded(held.release()));
    const lease handed = next.get();
    EXPECT_LE(handed.remaining(), 30s);
    EXPECT_GT(handed.remaining(), 10s);
    return server.query(
               "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'theirs' AND query LIKE '%.enter(%' AND "
               "query_start > '" +
               then + "'") == "0";
  };
  EXPECT_TRUE(untold() || untold() || untold() || untold() || untold());
}

TEST(postgres_waiting, a_dead_waiter_is_passed_over_at_once) {
  const postgres_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  {
    holder_process dead = holder_process::connected(server.url(), 30s);
    dead.tell("acquire mutex m");
    ASSERT_TRUE(waits(watcher, "m", 1));
    dead.kill();
  }
  ASSERT_TRUE(waits(watcher, "m", 0));
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m", 1));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(next.get().valid()); }), 10s) << "not when the ttl of the dead one ends";
}

TEST(postgres_waiting, a_line_of_the_dead_keeps_no_name_from_another_use) {
  const postgres_server server;
  client c = connect(server.url());
  {
    shared_mutex first(c, "m");
    lease held = first.acquire();
    holder_process dead = holder_process::connected(server.url(), 30s);
    dead.tell("acquire shared_mutex m");
    ASSERT_TRUE(waits(c, "m", 1));
    dead.kill();
    ASSERT_TRUE(waits(c, "m", 0));
    EXPECT_TRUE(succeeded(held.release()));
  }
  EXPECT_TRUE(mutex(c, "m").try_acquire());
}

TEST(postgres_waiting, a_notification_that_is_lost_is_made_up_for) {
  const postgres_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m", 1));
  // Freed by a hand that tells nobody.
  server.query("UPDATE holdfast.locks SET owner = NULL");
  EXPECT_TRUE(next.get().valid());
}

TEST(postgres_waiting, places_in_line_are_kept_and_left_clean) {
  const postgres_server server;
  client watcher = connect(server.url());
  mutex ours(watcher, "m");
  lease held = ours.acquire();
  for (int i = 0; i < 3; ++i) {
    mutex theirs(connect(server.url()), "m");
    EXPECT_FALSE(theirs.try_acquire({.wait = 300ms}));
  }
  EXPECT_EQ(server.query("SELECT count(*) FROM holdfast.queue"), "0");
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(eventually([&] { return watcher.inspect("m").empty(); }));
}

}  // namespace holdfast::testing
