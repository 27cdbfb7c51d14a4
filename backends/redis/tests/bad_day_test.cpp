#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

#include <future>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST(redis_bad_day, a_restarted_server_is_used_again_and_tokens_go_on_above) {
  redis_server server;
  mutex m(connect(server.url()), "m");
  lease held = m.acquire();
  const fencing_token before = held.token();
  server.kill();
  server.start();
  mutex other(connect(server.url()), "m");
  EXPECT_GT(other.acquire({.wait = live_timeout}).token(), before) << "although the server forgot everything";
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
}

TEST(redis_bad_day, tokens_survive_flushall) {
  const redis_server server;
  mutex m(connect(server.url()), "m");
  fencing_token last = 0;
  for (int i = 0; i < 5; ++i) {
    const lease held = m.acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
    server.command({"FLUSHALL"});
  }
}

TEST(redis_bad_day, a_lease_the_server_forgot_is_lost_at_the_next_renewal) {
  const redis_server server;
  mutex m(connect(server.url(), {.ttl = 600ms}), "m");
  const lease held = m.acquire();
  server.command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_EQ(held.loss_cause(), loss::taken);
}

TEST(redis_bad_day, forgotten_scripts_are_sent_again) {
  const redis_server server;
  mutex m(connect(server.url()), "m");
  for (int i = 0; i < 3; ++i) {
    const lease held = m.acquire();
    server.command({"SCRIPT", "FLUSH"});
  }
  EXPECT_TRUE(m.try_acquire());
}

TEST(redis_bad_day, cut_connections_lose_neither_leases_nor_waiters) {
  const redis_server server;
  mutex ours(connect(server.url(), {.ttl = 900ms}), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  for (int i = 0; i < 5; ++i) {
    server.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_FALSE(eventually([&] { return !held.valid() || waits.ready(); }, 300ms));
  }
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST(redis_bad_day, a_server_that_stands_still_is_unavailable_in_time_and_is_used_again) {
  redis_server server;
  const client c = connect(server.url(), {.request_timeout = 500ms});
  mutex m(c, "m");
  {
    const lease warm = m.acquire();
  }
  server.pause();
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); })); }), 5s);
  server.resume();
  EXPECT_TRUE(eventually([&] {
    try {
      return m.try_acquire({.wait = 1s}).has_value();
    } catch (const error&) {
      return false;
    }
  }));
}

TEST(redis_bad_day, a_lease_is_lost_in_time_when_the_server_stands_still) {
  redis_server server;
  mutex m(connect(server.url(), {.ttl = 600ms}), "m");
  const lease held = m.acquire();
  server.pause();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 2s));
  EXPECT_EQ(held.loss_cause(), loss::unreachable);
  server.resume();
}

TEST(redis_bad_day, a_grant_that_nobody_wants_any_more_is_given_back) {
  const redis_server server;
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  const lease held = ours.acquire();
  {
    std::stop_source stop;
    auto waits = theirs.async_acquire({}, stop.get_token());
    ASSERT_TRUE(eventually([&] { return server.command({"ZCARD", "holdfast_line:{m}"}) == ":1"; }));
    server.command({"EVAL", "redis.call('SET', 'them', redis.call('ZRANGE', 'holdfast_line:{m}', 0, 0)[1])", "0"});
    stop.request_stop();
    ASSERT_TRUE(eventually([&] { return server.command({"ZCARD", "holdfast_line:{m}"}) == ":0"; }));
  }
  // Somebody grants it all the same.
  server.command({"EVAL",
                  "local them = redis.call('GET', 'them') "
                  "local owner = string.sub(them, 1, 37) .. '0' "
                  "redis.call('HSET', 'late', owner, 1) "
                  "redis.call('PUBLISH', 'holdfast_client:' .. string.sub(them, 1, 36), "
                  "'g ' .. owner .. ' 7 1 mhna1 30000 1 x 1 ' .. string.rep('0', 32) .. '\\t1\\thost\\tname\\tlate')",
                  "0"});
  EXPECT_TRUE(eventually([&] { return server.command({"EXISTS", "late"}) == ":0"; }, 5s));
}

TEST(redis_bad_day, who_waits_while_the_server_restarts_gets_the_lock) {
  redis_server server;
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url(), {.request_timeout = 10s}), "m");
  const lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  server.kill();
  server.start();
  EXPECT_TRUE(waits.get().valid()) << "the server knows of no holder any more";
}

}  // namespace holdfast::testing
