#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/redis_sentinel.hpp>
#include <holdfast/testing/redis_tls_server.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <string_view>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Asks until the store answers: while a master is replaced there is none.
lease persistently(mutex& m) {
  std::optional<lease> got;
  EXPECT_TRUE(eventually([&] {
    try {
      got = m.try_acquire({.wait = 1s});
    } catch (const error& e) {
      EXPECT_EQ(e.code(), make_error_code(errc::unavailable)) << e.what();
    }
    return got.has_value();
  }));
  return std::move(got.value());
}

std::string token_key(const std::string& name) { return "redisson_lock_token:{" + name + "}"; }

/// The replicas have what the master has of `name`.
bool replicated(redis_sentinel& all, const std::string& name) {
  return eventually([&] {
    for (std::size_t i = 0; i < 3; ++i)
      if (all.server(i).command({"EXISTS", name, token_key(name)}) != ":2") return false;
    return true;
  });
}

}  // namespace

TEST(redis_sentinel_url, the_master_is_found_whoever_is_asked) {
  redis_sentinel all;
  const client c = connect(all.url(1));
  mutex m(c, "m");
  const lease held = m.acquire();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(mutex(connect(all.url_of(i)), "other").try_acquire()) << i;
  mutex direct(connect(all.server(0).url(1)), "m");
  EXPECT_FALSE(direct.try_acquire()) << "it is the same store";
}

TEST(redis_sentinel_url, a_dead_or_silent_sentinel_is_passed_over) {
  redis_sentinel all;
  all.sentinel(0).kill();
  EXPECT_TRUE(mutex(connect(all.url()), "m").try_acquire());
  all.sentinel(1).pause();
  EXPECT_TRUE(mutex(connect(all.url()), "m").try_acquire());
  all.sentinel(1).resume();
}

TEST(redis_sentinel_url, what_is_wrong_is_told) {
  redis_sentinel all;
  const std::string port = std::to_string(all.sentinel(0).port());
  const auto text = [&](const std::string& url, errc expected) {
    EXPECT_TRUE(throws(expected, [&] { return connect(url, {.connect_timeout = 2s}); })) << url;
    return error_text([&] { return connect(url, {.connect_timeout = 2s}); });
  };
  EXPECT_PRED2(has, text("redis+sentinel://127.0.0.1:" + port + "/nobody", errc::rejected), "knows no master 'nobody'");
  const auto to_server = "redis+sentinel://127.0.0.1:" + std::to_string(all.server(0).port()) + "/mymaster";
  EXPECT_PRED2(has, text(to_server, errc::rejected), "refused it");
  const std::string nobody = std::to_string(free_port());
  EXPECT_PRED2(has, text("redis+sentinel://127.0.0.1:" + nobody + "/mymaster", errc::unavailable), "cannot connect");
  EXPECT_PRED2(has, text("redis+sentinel://:hunter2@127.0.0.1:" + port + "/mymaster", errc::rejected),
               "no password set");
}

TEST(redis_sentinel_url, a_server_that_is_no_master_is_not_taken_for_one) {
  const redis_server master;
  const redis_server replica({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  const auto sentinel_of = [](const redis_server& server) {
    return "sentinel monitor mymaster 127.0.0.1 " + std::to_string(server.port()) + " 9\n";
  };
  const redis_server wrong({"--sentinel"}, sentinel_of(replica));
  const redis_server right({"--sentinel"}, sentinel_of(master));
  const auto url = [](const redis_server& first, const std::string& more) {
    return "redis+sentinel://127.0.0.1:" + std::to_string(first.port()) + more + "/mymaster";
  };
  const client c = connect(url(wrong, ",127.0.0.1:" + std::to_string(right.port())));
  EXPECT_TRUE(mutex(c, "m").try_acquire());
  EXPECT_EQ(master.command({"EXISTS", token_key("m")}), ":1");
}

TEST(redis_sentinel_url, tls_reaches_sentinels_and_the_master) {
  redis_tls_server master;
  const redis_tls_server sentinel({"--sentinel", "--tls-replication", "yes"},
                                  "sentinel monitor mymaster 127.0.0.1 " + std::to_string(master.port()) + " 1\n");
  const std::string url = "redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/mymaster";
  const std::string secure = "?tls=on&ca-file=" + redis_tls_server::authority().authority();
  mutex m(connect(url + secure), "m");
  EXPECT_TRUE(m.try_acquire());
  EXPECT_EQ(master.server().command({"EXISTS", token_key("m")}), ":1");
  EXPECT_PRED2(has, error_text([&] { return connect(url + "?tls=on"); }), "not trusted");
  EXPECT_FALSE(error_text([&] { return connect(url); }).empty());
}

TEST(redis_sentinel_url, a_sentinel_may_want_a_password) {
  redis_sentinel all;
  for (std::size_t i = 0; i < 3; ++i)
    all.sentinel(i).command({"ACL", "SETUSER", "app", "on", ">open-sesame", "resetchannels", "&+switch-master", "-@all",
                             "+ping", "+subscribe", "+sentinel|get-master-addr-by-name", "+sentinel|sentinels"});
  const temporary_directory directory;
  const auto file = (directory.path() / "secret").string();
  std::ofstream(file) << "open-sesame\n";
  const std::string url = all.url() + "?sentinel-user=app&sentinel-password-file=" + file;
  const client c = connect(url);
  EXPECT_TRUE(mutex(c, "m").try_acquire());
  EXPECT_TRUE(eventually([&] {
    return has(all.sentinel(0).command({"CLIENT", "LIST", "TYPE", "pubsub"}), "user=app");
  })) << "the rights that are documented are enough";

  for (std::size_t i = 0; i < 3; ++i) all.sentinel(i).command({"ACL", "SETUSER", "default", "resetpass", ">other"});
  EXPECT_PRED2(has, error_text([&] { return connect(all.url()); }), "sentinel-password-file=");
  EXPECT_TRUE(mutex(connect(url), "m").try_acquire());
  std::ofstream(file) << "hunter2\n";
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect(url); }));
  EXPECT_FALSE(has(error_text([&] { return connect(url); }), "hunter2"));
}

TEST(redis_sentinel_url, a_killed_master_is_replaced_and_tokens_go_on_above) {
  redis_sentinel all;
  // Only one sentinel is named, and that one dies: the others were learnt of it.
  const std::string url = all.url_of(0);
  mutex ours(connect(url, {.ttl = 20s}), "m");
  mutex theirs(connect(url, {.ttl = 20s}), "m");
  mutex third(connect(url), "n");
  lease held = ours.acquire();
  ASSERT_TRUE(replicated(all, "m"));
  auto waits = theirs.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  all.sentinel(0).kill();
  all.server(0).kill();
  ASSERT_TRUE(all.replaced(0));
  EXPECT_TRUE(persistently(third).valid());
  EXPECT_TRUE(held.valid()) << "the replica knew of it";
  EXPECT_FALSE(waits.ready());
  const auto before = held.token();
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }));
  EXPECT_GT(waits.get().token(), before);
}

TEST(redis_sentinel_url, a_lock_that_did_not_survive_is_lost_and_the_next_gets_in_with_a_greater_token) {
  redis_sentinel all;
  mutex ours(connect(all.url(), {.ttl = 6s}), "m");
  mutex theirs(connect(all.url(), {.ttl = 6s, .request_timeout = 20s}), "m");
  const lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_TRUE(replicated(all, "m"));
  all.server(0).kill();
  // As if it had not got there in time.
  for (const std::size_t i : {1, 2}) {
    all.server(i).command({"CONFIG", "SET", "replica-read-only", "no"});
    all.server(i).command({"FLUSHALL"});
  }
  const lease next = waits.get();
  EXPECT_GT(next.token(), held.token());
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
}

TEST(redis_sentinel_url, a_forced_failover_moves_everybody) {
  redis_sentinel all;
  const client c = connect(all.url());
  mutex ours(c, "m");
  mutex theirs(connect(all.url()), "m");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(replicated(all, "m"));
  ASSERT_EQ(all.sentinel(0).command({"SENTINEL", "FAILOVER", "mymaster"}), "+OK");
  ASSERT_TRUE(all.replaced(0));
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }));
  lease next = waits.get();
  EXPECT_TRUE(next.valid());
  // And on, at the new master.
  mutex third(c, "m");
  auto again = third.async_acquire({.wait = live_timeout});
  EXPECT_TRUE(succeeded(next.release()));
  EXPECT_TRUE(again.get().valid());
}

TEST(redis_sentinel_url, a_master_that_stands_still_is_left_as_soon_as_it_is_replaced) {
  redis_sentinel all;
  std::atomic<int> left = 0;
  const auto note = [&](log_level, std::string_view line) {
    if (line.find("is the master no more") != line.npos) ++left;
  };
  const client_options patient{.connect_timeout = 20s, .request_timeout = 60s};
  client_options noting = patient;
  noting.log = note;
  mutex m(connect(all.url(), patient), "m");
  mutex holder(connect(all.url(), patient), "w");
  mutex waiter(connect(all.url(), noting), "w");
  lease held = holder.acquire();
  auto waits = waiter.async_acquire();
  ASSERT_TRUE(replicated(all, "w"));
  ASSERT_TRUE(eventually([&] { return all.server(0).command({"EXISTS", "holdfast_line:{w}"}) == ":1"; }));
  {
    const lease warm = m.acquire();
  }
  all.server(0).pause();
  // Who does not hear of the new master waits for the old one's answer, for a minute.
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(persistently(m).valid()); }), live_timeout);
  EXPECT_TRUE(eventually([&] { return left == 2; })) << "the connection that asks, and the one that listens";
  ASSERT_TRUE(eventually([&] { return held.release().has_value(); }));
  EXPECT_TRUE(waits.get().valid());
  EXPECT_NE(all.master(), 0u);
  all.server(0).resume();
}

}  // namespace holdfast::testing
