#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

#include <thread>

// ?layout=plain: what redsync, redis-py, node-redlock and RedLock.net see of us and we of them, played by their
// commands.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::string theirs = "c0ffee00c0ffee00c0ffee00c0ffee00";

/// What all of them release with.
std::string compare_and_delete(const redis_server& server, const std::string& key, const std::string& value) {
  return server.command({"EVAL",
                         "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
                         "1", key, value});
}

std::string take(const redis_server& server, const std::string& key, const std::string& ms) {
  return server.command({"SET", key, theirs, "NX", "PX", ms});
}

std::int64_t integer(const redis_server& server, const std::vector<std::string>& words) {
  return std::stoll(server.command(words).substr(1));
}

std::string plain(const redis_server& server) { return server.url() + "?layout=plain"; }

}  // namespace

TEST(redis_plain, a_mutex_is_one_string_with_a_ttl) {
  const redis_server server;
  mutex m(connect(plain(server), {.ttl = 30s}), "my");
  lease held = m.acquire();
  EXPECT_EQ(server.command({"TYPE", "my"}), "+string");
  EXPECT_GT(integer(server, {"PTTL", "my"}), 25'000);
  EXPECT_LE(integer(server, {"PTTL", "my"}), 30'000);
  EXPECT_NE(take(server, "my", "1000"), "+OK") << "they are kept out";
  EXPECT_EQ(compare_and_delete(server, "my", theirs), ":0");
  EXPECT_TRUE(succeeded(held.renew()));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_EQ(server.command({"EVAL", "return #redis.call('KEYS', '*')", "0"}), ":1") << "but for the token";
  EXPECT_GT(integer(server, {"PTTL", "holdfast_plain_token:{my}"}), 0);
  EXPECT_EQ(take(server, "my", "1000"), "+OK");
}

TEST(redis_plain, every_acquisition_has_a_value_of_its_own) {
  const redis_server server;
  mutex m(connect(plain(server)), "my");
  std::set<std::string> values;
  for (int i = 0; i < 10; ++i) {
    const lease held = m.acquire();
    values.insert(server.command({"GET", "my"}));
  }
  EXPECT_EQ(values.size(), 10u);
}

TEST(redis_plain, the_prefix_is_part_of_the_key_and_of_no_name) {
  const redis_server server;
  client c = connect(plain(server) + "&prefix=redlock:");
  const lease held = mutex(c, "my").acquire();
  EXPECT_EQ(server.command({"TYPE", "redlock:my"}), "+string");
  ASSERT_EQ(c.inspect("m").size(), 1u);
  EXPECT_EQ(c.inspect("m")[0].name, "my");
  EXPECT_TRUE(c.inspect("redlock").empty());
  EXPECT_TRUE(c.evict("my"));
  EXPECT_EQ(server.command({"EXISTS", "redlock:my"}), ":0");
}

TEST(redis_plain, their_lock_keeps_us_out_and_its_end_is_seen_soon) {
  const redis_server server;
  mutex m(connect(plain(server)), "my");
  ASSERT_EQ(take(server, "my", "60000"), "+OK");
  EXPECT_FALSE(m.try_acquire());
  auto waits = m.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_EQ(compare_and_delete(server, "my", theirs), ":1");
  // Nobody told us: it was looked for. (A second would be the look of one that is told.)
  EXPECT_TRUE(eventually([&] { return waits.ready(); }, 500ms));
  EXPECT_TRUE(waits.get().valid());
}

TEST(redis_plain, what_they_hold_is_looked_at_by_one_of_us_and_not_all_the_time) {
  const redis_server server;
  ASSERT_EQ(take(server, "my", "60000"), "+OK");
  std::vector<client> clients;
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(connect(plain(server)));
    waits.push_back(mutex(clients.back(), "my").async_acquire({.wait = 2s}));
  }
  ASSERT_TRUE(eventually([&] { return server.command({"ZCARD", "holdfast_plain_line:{my}"}) == ":8"; }));
  const std::string looks =
      "return string.match(redis.call('INFO', 'commandstats'), 'cmdstat_evalsha:calls=(%d+)') or '0'";
  const auto before = std::stoll(server.command({"EVAL", looks, "0"}));
  EXPECT_FALSE(eventually([&] { return waits[0].ready(); }, 1s));
  // One every 37 ms on average, those behind 2, 3, 4 ... times as seldom: 27 * 2.7 in a second. All of them: 216.
  EXPECT_LT(std::stoll(server.command({"EVAL", looks, "0"})) - before, 130);
  for (auto& one : waits) EXPECT_TRUE(throws(errc::timed_out, [&] { return one.get(); }));
  EXPECT_EQ(server.command({"GET", "my"}), theirs);
}

TEST(redis_plain, their_lock_ends_with_its_ttl) {
  const redis_server server;
  mutex m(connect(plain(server)), "my");
  ASSERT_EQ(take(server, "my", "300"), "+OK");
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
}

TEST(redis_plain, ours_go_from_one_to_the_next_without_a_look) {
  const redis_server server;
  mutex ours(connect(plain(server)), "my");
  mutex next(connect(plain(server)), "my");
  lease held = ours.acquire();
  auto waits = next.async_acquire();
  ASSERT_TRUE(eventually([&] { return server.command({"ZCARD", "holdfast_plain_line:{my}"}) == ":1"; }));
  const std::string before = server.command({"GET", "my"});
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_EQ(server.command({"EXISTS", "my"}), ":1") << "in the same step";
  EXPECT_NE(server.command({"GET", "my"}), before);
  const lease second = waits.get();
  EXPECT_GT(second.token(), held.token());
}

TEST(redis_plain, they_get_in_although_ours_hand_it_on_all_the_time) {
  const redis_server server;
  std::atomic<bool> over = false;
  const auto work = [&] {
    mutex m(connect(plain(server)), "my");
    while (!over) const std::scoped_lock alone(m);
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(work);
  ASSERT_TRUE(eventually([&] { return server.command({"EXISTS", "holdfast_plain_turn:{my}"}) == ":1"; }));
  EXPECT_TRUE(eventually([&] { return take(server, "my", "100") == "+OK"; }));
  over = true;
}

TEST(redis_plain, both_sides_count_exactly) {
  const redis_server server;
  std::atomic<int> counter = 0;
  const auto step = [&] { counter.store(counter.load() + 1); };
  const auto ours = [&] {
    mutex m(connect(plain(server)), "my");
    for (int i = 0; i < 100; ++i) {
      const std::scoped_lock alone(m);
      step();
    }
  };
  const auto others = [&](const std::string& value) {
    for (int i = 0; i < 25; ++i) {
      while (server.command({"SET", "my", value, "NX", "PX", "30000"}) != "+OK") std::this_thread::yield();
      step();
      compare_and_delete(server, "my", value);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back(ours);
    for (int i = 0; i < 2; ++i) threads.emplace_back(others, theirs + std::to_string(i));
  }
  EXPECT_EQ(counter, 250);
}

TEST(redis_plain, keys_of_another_kind_are_refused_and_left_alone) {
  const redis_server server;
  client c = connect(plain(server));
  server.command({"HSET", "basket", "apples", "3"});
  server.command({"RPUSH", "list", "1"});
  server.command({"SET", "greeting", "hello"});
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, "basket").try_acquire(); }));
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, "list").try_acquire(); }));
  EXPECT_FALSE(mutex(c, "greeting").try_acquire()) << "to everybody it is held";
  EXPECT_TRUE(throws(errc::rejected, [&] { return c.evict("basket"); }));
  EXPECT_TRUE(throws(errc::rejected, [&] { return c.evict("greeting"); }));
  EXPECT_EQ(server.command({"HGET", "basket", "apples"}), "3");
  EXPECT_EQ(server.command({"LLEN", "list"}), ":1");
  EXPECT_EQ(server.command({"GET", "greeting"}), "hello");
  EXPECT_TRUE(c.inspect("").empty());
  const lease held = mutex(c, "my").acquire();
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(connect(server.url()), "my").try_acquire(); }))
      << "Redisson's layout takes it for no lock";
}

TEST(redis_plain, their_holders_are_shown_and_evicted) {
  const redis_server server;
  client c = connect(plain(server));
  ASSERT_EQ(take(server, "my", "60000"), "+OK");
  const auto all = c.inspect("");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "my");
  EXPECT_EQ(all[0].kind, "mutex");
  ASSERT_EQ(all[0].holders.size(), 1u);
  EXPECT_EQ(all[0].holders[0].owner, theirs);
  EXPECT_GT(all[0].holders[0].remaining, 30s);
  EXPECT_TRUE(c.evict("my"));
  EXPECT_TRUE(mutex(c, "my").try_acquire());
}

TEST(redis_plain, what_one_key_cannot_be_is_refused) {
  const redis_server server;
  const client c = connect(plain(server));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return shared_mutex(c, "my"), true; }));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return permit_semaphore(c, "my", 2), true; }));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return latch(c, "my"), true; }));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return mutex(c, "my", {.order = ordering::fifo}), true; }));
}

TEST(redis_plain, tokens_survive_flushall) {
  const redis_server server;
  mutex m(connect(plain(server)), "my");
  fencing_token last = 0;
  for (int i = 0; i < 5; ++i) {
    const lease held = m.acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
    server.command({"FLUSHALL"});
  }
}

}  // namespace holdfast::testing
