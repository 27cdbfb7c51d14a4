#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/mariadb_server.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

bool waits(const client& c, const std::string& name, std::size_t how_many = 1) {
  return eventually([&] {
    const auto all = c.inspect(name);
    return !all.empty() && all.front().waiters.size() == how_many;
  });
}

/// A counter of the server.
long long status(const mariadb_server& server, const std::string& name) {
  const std::string said = server.query("SHOW GLOBAL STATUS LIKE '" + name + "'");
  return std::stoll(said.substr(said.find('\t')));
}

}  // namespace

TEST(mysql_waiting, a_letter_ends_the_wait_and_is_thrown_away) {
  const mariadb_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  const auto before = status(server, "Com_kill");
  for (int i = 0; i < 20; ++i) {
    lease held = ours.acquire({.wait = live_timeout});
    auto next = theirs.async_acquire({.wait = live_timeout});
    ASSERT_TRUE(waits(watcher, "m"));
    EXPECT_TRUE(succeeded(held.release()));
    lease handed = next.get();
    EXPECT_GT(handed.token(), held.token());
    EXPECT_TRUE(succeeded(handed.release()));
  }
  EXPECT_GE(status(server, "Com_kill") - before, 20) << "who slept was not woken";
  EXPECT_TRUE(eventually([&] { return server.query("SELECT count(*) FROM holdfast_mail") == "0"; }));
}

TEST(mysql_waiting, who_waits_asks_for_its_turn_about_once_a_second_and_no_more) {
  const mariadb_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire({.ttl = 600s});
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m"));
  const auto before = status(server, "Com_call_procedure");
  server.query("SELECT SLEEP(4)");
  EXPECT_LE(status(server, "Com_call_procedure") - before, 10) << "it polls";
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST(mysql_waiting, a_waiter_of_another_user_gets_its_turn_though_it_cannot_be_woken) {
  const mariadb_server server;
  server.query("CREATE USER ann; CREATE USER bob; GRANT ALL ON holdfast.* TO ann; GRANT ALL ON holdfast.* TO bob");
  client watcher = connect(server.url());
  mutex ours(connect(server.url("", "ann")), "m");
  mutex theirs(connect(server.url("", "bob")), "m");
  lease held = ours.acquire();
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m"));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST(mysql_waiting, a_waiter_that_was_killed_is_passed_over) {
  const mariadb_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire({.ttl = 600s});
  holder_process dead;
  ASSERT_EQ(dead.ask("connect " + server.url() + " ttl=600000"), "ok");
  dead.tell("acquire mutex m");
  ASSERT_TRUE(waits(watcher, "m"));
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m", 2));
  dead.kill();
  // The server finds out when the sleep ends.
  ASSERT_TRUE(waits(watcher, "m", 1));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

}  // namespace holdfast::testing
