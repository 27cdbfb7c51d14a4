#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/scale.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <thread>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// The leases there are, as etcdctl spells them.
std::vector<std::string> leases_of(const etcd_server& server) {
  std::istringstream lines(server.etcdctl("lease list"));
  std::vector<std::string> all;
  std::string line;
  std::getline(lines, line);  // found N leases
  while (std::getline(lines, line)) all.push_back(line);
  return all;
}

bool waits_for(const client& watcher, const std::string& name) {
  return eventually([&] {
    const auto all = watcher.inspect(name);
    return all.size() == 1 && all[0].waiters.size() == 1;
  });
}

}  // namespace

TEST(etcd_bad_day, a_lease_that_is_revoked_is_loss_at_once) {
  const etcd_server server;
  const client c = connect(server.url(), {.ttl = 60s});
  mutex one(c, "one");
  shared_mutex two(c, "two");
  const lease held[] = {one.acquire(), two.acquire_shared()};
  for (const auto& id : leases_of(server)) server.etcdctl("lease revoke " + id);
  // The next renewal is twenty seconds away.
  for (const auto& lost : held) EXPECT_TRUE(eventually([&] { return lost.lost().stop_requested(); }, 5s));
  EXPECT_TRUE(mutex(connect(server.url()), "one").try_acquire());
  EXPECT_TRUE(one.try_acquire({.wait = live_timeout})) << "in another session";
}

TEST(etcd_bad_day, a_lease_that_ends_in_the_midst_of_a_grant_makes_nothing_valid_for_ever) {
  const etcd_server server;
  const client c = connect(server.url(), {.ttl = 60s});
  std::atomic<bool> enough{false};
  std::atomic<int> too_long{0};
  std::vector<std::jthread> all;
  for (int t = 0; t < 6; ++t) {
    all.emplace_back([&, t] {
      mutex m(c, "m" + std::to_string(t));
      while (!enough) {
        const auto held = m.try_acquire({.wait = live_timeout});
        if (held && held->valid_until() > std::chrono::steady_clock::now() + 61s) ++too_long;
      }
    });
  }
  for (int i = 0; i < scaled(30); ++i)
    for (const auto& id : leases_of(server)) server.etcdctl("lease revoke " + id + " || true");
  enough = true;
  all.clear();
  EXPECT_EQ(too_long, 0);
}

TEST(etcd_bad_day, the_writers_key_that_is_deleted_is_loss_at_once) {
  const etcd_server server;
  shared_mutex m(connect(server.url(), {.ttl = 60s}), "m");
  const lease held = m.acquire();
  server.etcdctl("del --prefix m/write/");
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
}

TEST(etcd_bad_day, a_key_that_is_deleted_is_loss_at_once) {
  const etcd_server server;
  mutex m(connect(server.url(), {.ttl = 60s}), "m");
  const lease held = m.acquire();
  server.etcdctl("del --prefix m/");
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_EQ(held.loss_cause(), loss::taken);
}

TEST(etcd_bad_day, a_waiter_whose_lease_is_revoked_gets_in_line_again) {
  const etcd_server server;
  const client watcher = connect(server.url());
  lease held = mutex(watcher, "m").acquire();
  const auto before = leases_of(server);
  mutex m(connect(server.url(), {.ttl = 60s}), "m");
  auto waits = m.async_acquire();
  ASSERT_TRUE(waits_for(watcher, "m"));
  for (const auto& id : leases_of(server))
    if (std::find(before.begin(), before.end(), id) == before.end()) server.etcdctl("lease revoke " + id);
  ASSERT_TRUE(waits_for(watcher, "m"));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST(etcd_bad_day, a_compaction_loses_no_waiter) {
  const etcd_server server;
  const client watcher = connect(server.url());
  mutex ours(watcher, "m");
  mutex theirs(connect(server.url()), "m");
  for (int i = 0; i < 3; ++i) {
    lease held = ours.acquire({.wait = live_timeout});
    auto waits = theirs.async_acquire();
    ASSERT_TRUE(waits_for(watcher, "m"));
    const std::string said = server.etcdctl("put other value -w json");
    const auto at = said.find("\"revision\":") + 11;
    server.etcdctl("compact " + said.substr(at, said.find_first_not_of("0123456789", at) - at));
    ASSERT_TRUE(succeeded(held.release()));
    EXPECT_TRUE(waits.get().valid());
  }
}

TEST(etcd_bad_day, a_restarted_server_is_used_again_and_keeps_what_is_held) {
  etcd_server server;
  mutex m(connect(server.url(), {.ttl = 20s}), "m");
  mutex other(connect(server.url()), "m");
  lease held = m.acquire();
  auto waits = other.async_acquire();
  server.kill();
  server.start();
  EXPECT_TRUE(eventually([&] { return held.renew().has_value(); }));
  EXPECT_FALSE(waits.ready());
  const auto before = held.token();
  EXPECT_TRUE(eventually([&] { return held.release().has_value(); }));
  EXPECT_GT(waits.get().token(), before);
}

TEST(etcd_bad_day, a_server_that_stands_still_is_unavailable_in_time_and_is_used_again) {
  etcd_server server;
  const client c = connect(server.url(), {.request_timeout = 700ms});
  mutex m(c, "m");
  {
    const lease warm = m.acquire();
  }
  server.pause();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); }));
  server.resume();
  EXPECT_TRUE(eventually([&] {
    try {
      return m.try_acquire().has_value();
    } catch (const error&) {
      return false;
    }
  }));
}

TEST(etcd_bad_day, a_holder_cut_off_from_the_server_knows_of_its_loss_before_anybody_else_gets_in) {
  etcd_server server;
  mutex m(connect(server.url(), {.ttl = 1500ms, .request_timeout = 400ms}), "m");
  const lease held = m.acquire();
  server.pause();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_EQ(held.loss_cause(), loss::unreachable);
  server.resume();
}

TEST(etcd_bad_day, a_server_that_is_not_there_is_told) {
  EXPECT_TRUE(throws(errc::unavailable, [] { return connect("etcd://127.0.0.1:1", {.connect_timeout = 2s}); }));
}

}  // namespace holdfast::testing
