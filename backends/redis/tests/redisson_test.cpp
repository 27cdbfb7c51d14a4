#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

// What a Redisson client sees of us and we of it, played by plain commands.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::string java = "6f1d8e0a-1111-4222-8333-444455556666:41";

std::int64_t integer(const redis_server& server, const std::vector<std::string>& words) {
  return std::stoll(server.command(words).substr(1));
}

}  // namespace

TEST(redisson_layout, a_mutex_is_a_hash_with_one_owner_and_a_ttl) {
  const redis_server server;
  mutex m(connect(server.url(), {.ttl = 30s}), "my");
  lease held = m.acquire();
  EXPECT_EQ(server.command({"TYPE", "my"}), "+hash");
  EXPECT_EQ(integer(server, {"HLEN", "my"}), 1);
  EXPECT_GT(integer(server, {"PTTL", "my"}), 25'000);
  EXPECT_GE(server.command({"GET", "redisson_lock_token:{my}"}), std::to_string(held.token().value()));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_EQ(integer(server, {"EXISTS", "my", "holdfast_held:{my}", "holdfast_wait:{my}"}), 0);
  EXPECT_GT(integer(server, {"PTTL", "holdfast_last:{my}"}), 0) << "what is left ends by itself";
}

TEST(redisson_layout, readers_have_timeout_keys_and_writers_a_field_of_their_own) {
  const redis_server server;
  shared_mutex m(connect(server.url()), "my");
  lease held = m.acquire();
  EXPECT_EQ(server.command({"HGET", "my", "mode"}), "write");
  EXPECT_EQ(integer(server, {"HLEN", "my"}), 2);
  ASSERT_TRUE(succeeded(held.downgrade()));
  EXPECT_EQ(server.command({"HGET", "my", "mode"}), "read");
  EXPECT_EQ(server.command({"EVAL", "return #redis.call('KEYS', '{my}:*:rwlock_timeout:1')", "0"}), ":1");
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_EQ(server.command(
                {"EVAL", "return #redis.call('KEYS', '*my*') - redis.call('EXISTS', 'redisson_lock_token:{my}')", "0"}),
            ":0");
}

TEST(redisson_layout, permits_are_a_number_and_ids_of_sixteen_bytes) {
  const redis_server server;
  permit_semaphore s(connect(server.url()), "my", 3);
  lease held = s.acquire({}, {}, 2);
  EXPECT_EQ(server.command({"GET", "my"}), "1");
  EXPECT_EQ(integer(server, {"ZCARD", "{my}:timeout"}), 2);
  EXPECT_EQ(server.command({"EVAL", "return #redis.call('ZRANGE', '{my}:timeout', 0, 0)[1]", "0"}), ":16");
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_EQ(server.command({"GET", "my"}), "3");
}

TEST(redisson_layout, semaphores_and_latches_are_numbers) {
  const redis_server server;
  const client c = connect(server.url());
  counting_semaphore s(c, "s");
  ASSERT_TRUE(s.try_set_permits(3));
  s.acquire(2);
  EXPECT_EQ(server.command({"GET", "s"}), "1");
  latch l(c, "l");
  ASSERT_TRUE(l.try_set_count(2));
  EXPECT_EQ(server.command({"GET", "l"}), "2");
  l.count_down(2);
  EXPECT_EQ(integer(server, {"EXISTS", "l"}), 0);
}

TEST(redisson_layout, redissons_own_counter_is_kept_on_request) {
  const redis_server server;
  mutex m(connect(server.url() + "?tokens=redisson"), "my");
  EXPECT_EQ(m.acquire().token(), fencing_token(1));
  EXPECT_EQ(m.acquire().token(), fencing_token(2));
  EXPECT_EQ(integer(server, {"PTTL", "redisson_lock_token:{my}"}), -1);
}

TEST(redisson_layout, a_counter_redisson_made_never_expires_and_only_grows) {
  const redis_server server;
  server.command({"SET", "redisson_lock_token:{my}", "41"});
  mutex m(connect(server.url()), "my");
  EXPECT_GT(m.acquire().token(), fencing_token(41));
  EXPECT_EQ(integer(server, {"PTTL", "redisson_lock_token:{my}"}), -1);
}

TEST(redisson_layout, a_counter_that_was_ours_and_becomes_redissons_expires_no_more) {
  const redis_server server;
  const fencing_token before = mutex(connect(server.url()), "my").acquire().token();
  EXPECT_GT(integer(server, {"PTTL", "redisson_lock_token:{my}"}), 0);
  EXPECT_GT(mutex(connect(server.url() + "?tokens=redisson"), "my").acquire().token(), before);
  EXPECT_EQ(integer(server, {"PTTL", "redisson_lock_token:{my}"}), -1);
  EXPECT_TRUE(mutex(connect(server.url()), "my").try_acquire());
  EXPECT_EQ(integer(server, {"PTTL", "redisson_lock_token:{my}"}), -1);
}

TEST(redisson_contention, its_lock_keeps_us_out_and_its_release_wakes_us) {
  const redis_server server;
  mutex m(connect(server.url()), "my");
  server.command({"HSET", "my", java, "1"});
  server.command({"PEXPIRE", "my", "30000"});
  EXPECT_FALSE(m.try_acquire());
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] {
    return server.command({"EVAL", "return redis.call('PUBSUB', 'NUMSUB', 'redisson_lock__channel:{my}')[2]", "0"}) ==
           ":1";
  }));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  server.command({"EVAL", "redis.call('DEL', 'my') redis.call('PUBLISH', 'redisson_lock__channel:{my}', '0')", "0"});
  EXPECT_TRUE(eventually([&] { return waits.ready(); }, 500ms));
  EXPECT_TRUE(waits.get().valid());
}

TEST(redisson_contention, its_place_in_the_fair_queue_is_kept) {
  const redis_server server;
  mutex m(connect(server.url()), "my", {.order = ordering::fifo});
  lease held = m.acquire();
  server.command({"RPUSH", "redisson_lock_queue:{my}", java});
  server.command({"ZADD", "redisson_lock_timeout:{my}", "99999999999999", java});
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_FALSE(m.try_acquire()) << "it is first";
  server.command({"LPOP", "redisson_lock_queue:{my}"});
  server.command({"ZREM", "redisson_lock_timeout:{my}", java});
  EXPECT_TRUE(m.try_acquire());
}

TEST(redisson_contention, its_fair_unlock_wakes_us_by_our_own_channel) {
  const redis_server server;
  mutex m(connect(server.url()), "my", {.order = ordering::fifo});
  server.command({"HSET", "my", java, "1"});
  server.command({"PEXPIRE", "my", "30000"});
  auto waits = m.async_acquire();
  ASSERT_TRUE(eventually([&] { return integer(server, {"LLEN", "redisson_lock_queue:{my}"}) == 1; }));
  server.command({"EVAL",
                  "redis.call('DEL', 'my') redis.call('PUBLISH', 'redisson_lock__channel:{my}:' .. "
                  "redis.call('LINDEX', 'redisson_lock_queue:{my}', 0), '0')",
                  "0"});
  EXPECT_TRUE(eventually([&] { return waits.ready(); }, 500ms));
}

TEST(redisson_contention, a_number_of_another_program_is_never_overwritten) {
  const redis_server server;
  const client c = connect(server.url());
  server.command({"SET", "visits", "12345"});
  server.command({"SET", "word", "hello"});
  EXPECT_TRUE(throws(errc::rejected, [&] { return permit_semaphore(c, "visits", 3).try_acquire(); }));
  EXPECT_TRUE(throws(errc::rejected, [&] { return permit_semaphore(c, "word", 3).try_acquire(); }));
  EXPECT_EQ(server.command({"GET", "visits"}), "12345");
  // A name that had permits of ours once, and now a number of somebody else's.
  EXPECT_TRUE(permit_semaphore(c, "s", 3).try_acquire());
  EXPECT_TRUE(permit_semaphore(c, "s", 5).try_acquire()) << "nobody has any: it may change";
  server.command({"SET", "s", "12345"});
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, "s").try_acquire(); }));
  EXPECT_TRUE(throws(errc::rejected, [&] { return permit_semaphore(c, "s", 3).try_acquire(); }));
  EXPECT_EQ(server.command({"GET", "s"}), "12345");
  server.command({"SET", "java", "3"});
  EXPECT_TRUE(permit_semaphore(c, "java", 3).try_acquire());
}

TEST(redisson_contention, a_latch_that_it_counts_down_leaves_no_key_of_ours_for_ever) {
  const redis_server server;
  ASSERT_TRUE(latch(connect(server.url()), "my").try_set_count(1));
  server.command({"DEL", "my"});  // What Redisson's countDown does at zero.
  EXPECT_NE(integer(server, {"PTTL", "holdfast_kind:{my}"}), -1);
}

TEST(redisson_contention, its_holders_are_shown) {
  const redis_server server;
  server.command({"HSET", "my", java, "1"});
  server.command({"PEXPIRE", "my", "30000"});
  server.command({"HSET", "basket", "apples", "3"});
  const auto all = connect(server.url()).inspect("");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "my");
  ASSERT_EQ(all[0].holders.size(), 1u);
  EXPECT_EQ(all[0].holders[0].owner, java);
}

TEST(redisson_contention, its_permits_and_counts_wake_us) {
  const redis_server server;
  const client c = connect(server.url());
  server.command({"SET", "s", "0"});
  auto permit = counting_semaphore(c, "s").async_acquire();
  server.command({"SET", "l", "1"});
  auto open = latch(c, "l").async_wait();
  EXPECT_FALSE(eventually([&] { return permit.ready() || open.ready(); }, short_wait));
  server.command({"EVAL", "redis.call('INCRBY', 's', 1) redis.call('PUBLISH', 'redisson_sc:{s}', '1')", "0"});
  server.command(
      {"EVAL", "redis.call('DEL', 'l') redis.call('PUBLISH', 'redisson_countdownlatch__channel__{l}', '0')", "0"});
  EXPECT_TRUE(eventually([&] { return permit.ready() && open.ready(); }, 500ms));
}

}  // namespace holdfast::testing
