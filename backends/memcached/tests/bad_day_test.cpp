#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/memcached_server.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

// What a cache does to locks, and that the token tells.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Writes many times what the server has room for, of all the sizes a lock may have.
void fill(const memcached_server& server) {
  for (int round = 0; round < 400; ++round) {
    std::string commands;
    for (int i = 0; i < 100; ++i) {
      const std::string value(60 + static_cast<std::size_t>(i) * 4, 'x');
      commands += "ms filler-" + std::to_string(round) + "-" + std::to_string(i) + " " + std::to_string(value.size()) +
                  " q\r\n" + value + "\r\n";
    }
    // Its answer is that all before was done (or, for want of memory, not).
    ASSERT_FALSE(server.ask(commands + "mn").empty());
  }
}

}  // namespace

TEST(memcached_bad_day, a_restarted_server_is_used_again_and_tokens_go_on_above) {
  memcached_server server;
  mutex m(connect(server.url()), "m");
  lease held = m.acquire();
  const fencing_token before = held.token();
  server.kill();
  server.start();
  mutex other(connect(server.url()), "m");
  const lease second = other.acquire({.wait = live_timeout});
  EXPECT_GT(second.token(), before) << "although the server forgot everything";
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_TRUE(second.valid());
}

TEST(memcached_bad_day, versions_of_an_earlier_life_touch_nothing_of_the_next) {
  memcached_server server;
  mutex ours(connect(server.url(), {.ttl = 30s}), "m");
  lease held = ours.acquire();  // the first item of its life: version 1
  server.kill();
  server.start();
  mutex theirs(connect(server.url()), "m");
  lease second = theirs.acquire({.wait = live_timeout});  // the first of its life, too
  EXPECT_TRUE(failed(errc::lost, held.release()));
  EXPECT_TRUE(succeeded(second.renew())) << "the release of the first ended the hold of the second";
}

TEST(memcached_bad_day, a_lease_the_server_forgot_is_lost_at_the_next_renewal_and_tokens_grow) {
  const memcached_server server;
  mutex m(connect(server.url(), {.ttl = 4s}), "m");
  fencing_token last = 0;
  for (int i = 0; i < 3; ++i) {
    const lease held = m.acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_EQ(server.ask("flush_all"), "OK\r\n");
    EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
    EXPECT_EQ(held.loss_cause(), loss::taken);
  }
}

TEST(memcached_bad_day, eviction_lets_a_second_in_and_the_token_tells_who_is_newer) {
  const memcached_server server({"-m", "2", "-I", "512k"});
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire({.ttl = 600s});
  fill(server);
  const auto second = theirs.try_acquire();
  ASSERT_TRUE(second) << "the server evicts nothing";
  EXPECT_TRUE(held.valid()) << "nobody has told it";
  EXPECT_GT(second->token(), held.token());
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_TRUE(second->valid());
  const auto found = connect(server.url()).examine();
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const finding& one) {
    return one.how == finding::level::danger && one.text.find("has evicted") != std::string::npos;
  }));
}

TEST(memcached_bad_day, a_server_that_may_not_evict_refuses_and_forgets_nothing) {
  const memcached_server server({"-m", "2", "-I", "512k", "-M"});
  const client c = connect(server.url());
  mutex m(c, "m");
  lease held = m.acquire({.ttl = 600s});
  fill(server);
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, "another").try_acquire(); }));
  // An `ms` would drop the holder's item here, for want of memory for its own.
  const auto contend = [&] { return mutex(connect(server.url()), "m").try_acquire(); };
  EXPECT_FALSE(contend()) << "somebody has it, and that it is full is beside the point";
  EXPECT_TRUE(succeeded(held.release())) << "who wanted it too has dropped it";
}

TEST(memcached_bad_day, a_server_that_stands_still_is_unavailable_in_time_and_is_used_again) {
  memcached_server server;
  // What the server got before it was stopped it does later, and nobody may be left to release it.
  mutex m(connect(server.url(), {.ttl = 5s, .request_timeout = 500ms}), "m");
  {
    const lease warm = m.acquire();
  }
  server.pause();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); }));
  server.resume();
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
}

TEST(memcached_bad_day, what_was_written_by_a_clock_that_stood_still_is_not_believed_in) {
  memcached_server server;
  mutex ours(connect(server.url(), {.ttl = 2s, .request_timeout = live_timeout}), "m");
  mutex theirs(connect(server.url()), "m");
  {
    const lease warm = ours.acquire();
  }
  server.pause();
  const auto after = [](std::chrono::milliseconds pause) {
    const auto then = lease_clock::now() + pause;
    EXPECT_TRUE(eventually([&] { return lease_clock::now() >= then; }));
  };
  after(4s);
  auto waits = ours.async_acquire({.wait = live_timeout, .ttl = 3s});
  after(1s);
  server.resume();
  // The server wrote it by a clock that was five seconds late, which is all of its time: it drops it when it notices.
  const lease held = waits.get();
  while (held.valid()) {
    const auto second = theirs.try_acquire();
    ASSERT_FALSE(second && held.valid()) << "two holders";
  }
}

TEST(memcached_bad_day, a_lease_ends_in_time_while_the_server_is_away) {
  memcached_server server;
  mutex m(connect(server.url(), {.ttl = 900ms, .request_timeout = 300ms}), "m");
  const lease held = m.acquire();
  server.kill();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.loss_cause(), loss::unreachable);
}

TEST(memcached_bad_day, an_item_outlives_the_ttl_it_was_given_for) {
  // By the ticks of a clock of whole seconds: wherever in a second it is made, nobody gets in before the ttl ends.
  const memcached_server server;
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  for (int i = 0; i < 4; ++i) {
    const lease held = ours.acquire({.wait = live_timeout, .ttl = 1100ms});
    const auto said = server.ask("mg holdfast.l.m t");
    ASSERT_TRUE(said.starts_with("HD t")) << said;
    // Of what the server says is left, two seconds may be none.
    EXPECT_GE(std::chrono::seconds(std::stol(said.substr(4)) - 2), held.remaining());
    const lease next = theirs.acquire({.wait = live_timeout, .ttl = 10ms});
    EXPECT_FALSE(held.valid());
    EXPECT_GT(next.token(), held.token());
  }
}

TEST(memcached_bad_day, what_others_keep_under_the_key_is_neither_taken_nor_harmed) {
  const memcached_server server;
  EXPECT_EQ(server.ask("set holdfast.l.m 0 0 5\r\nhello"), "STORED\r\n");
  client c = connect(server.url());
  mutex m(c, "m");
  EXPECT_TRUE(throws(errc::rejected, [&] { return m.try_acquire(); }));
  EXPECT_TRUE(throws(errc::rejected, [&] { return c.evict("m"); }));
  EXPECT_NE(server.ask("get holdfast.l.m").find("hello"), std::string::npos);
}

}  // namespace holdfast::testing
