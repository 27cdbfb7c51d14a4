#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

// ?replicas=N, with real replicas that are stopped, cut off and promoted.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string online(const redis_server& master) {
  return master.command(
      {"EVAL", "return select(2, string.gsub(redis.call('INFO', 'replication'), 'state=online', ''))", "0"});
}

/// One master, and `count` replicas that have caught up.
class replicated {
 public:
  explicit replicated(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      replicas_.push_back(std::make_unique<redis_server>(
          std::vector<std::string>{"--replicaof", "127.0.0.1", std::to_string(master.port())}));
    }
    const auto all = ":" + std::to_string(count);
    if (!eventually([&] { return online(master) == all; })) throw std::runtime_error("the replicas do not come up");
    // A replica that is online may take a second more until it acknowledges anything.
    mutex warm(connect(url("replicas=" + std::to_string(count))), "warm");
    static_cast<void>(warm.acquire({.wait = live_timeout}));
    master.command({"FLUSHALL"});
    master.command({"CONFIG", "RESETSTAT"});
  }

  redis_server& replica(std::size_t index) { return *replicas_.at(index); }
  std::string url(const std::string& options) const { return master.url() + "?" + options; }
  bool empty() const {
    return master.command({"EVAL",
                           "return #redis.call('KEYS', '*') - redis.call('EXISTS', 'redisson_lock_token:{m}', "
                           "'holdfast_last:{m}')",
                           "0"}) == ":0";
  }

  /// The replica gets nothing from here on, as if the network between them were cut.
  void cut_off(std::size_t index) {
    replica(index).pause();
    master.command({"CLIENT", "KILL", "TYPE", "replica"});
    if (!eventually([&] { return online(master) == ":0"; })) throw std::runtime_error("the replica is still there");
  }

  void fail_over_to(std::size_t index) {
    master.kill();
    replica(index).resume();
    if (replica(index).command({"REPLICAOF", "NO", "ONE"}) != "+OK") throw std::runtime_error("no promotion");
  }

  redis_server master{{"--repl-diskless-sync-delay", "0"}};

 private:
  std::vector<std::unique_ptr<redis_server>> replicas_;
};

}  // namespace

TEST(redis_replicas, a_grant_is_told_once_they_have_it) {
  replicated servers(2);
  mutex m(connect(servers.url("replicas=2")), "m");
  for (int i = 0; i < 20; ++i) {
    const lease held = m.acquire();
    EXPECT_EQ(servers.replica(0).command({"EXISTS", "m"}), ":1");
    EXPECT_EQ(servers.replica(1).command({"EXISTS", "m"}), ":1");
  }
}

TEST(redis_replicas, too_few_undo_the_grant_and_leave_nothing_behind) {
  replicated servers(2);
  mutex m(connect(servers.url("replicas=2&replicas-timeout=1s")), "m");
  servers.replica(1).pause();
  const auto text = error_text([&] { return m.try_acquire(); });
  EXPECT_NE(text.find("granted, but only 1 of 2 replicas answered within 1 s: undone"), std::string::npos) << text;
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire({.wait = 3s}); }));
  EXPECT_TRUE(eventually([&] { return servers.empty(); }, 5s));
  servers.replica(1).resume();
  EXPECT_TRUE(eventually([&] {
    try {
      return m.try_acquire({.wait = 1s}).has_value();
    } catch (const error&) {
      return false;  // it has a good deal to catch up with
    }
  }));
}

TEST(redis_replicas, every_kind_of_grant_waits_for_them) {
  replicated servers(1);
  const client c = connect(servers.url("replicas=1&replicas-timeout=100ms"), {.request_timeout = 2s});
  counting_semaphore s(c, "s");
  ASSERT_TRUE(s.try_set_permits(2));
  shared_mutex rw(c, "rw");
  lease reader = rw.acquire_shared();
  servers.replica(0).pause();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return s.try_acquire(); }));
  EXPECT_TRUE(throws(errc::unavailable, [&] { return permit_semaphore(c, "p", 2).try_acquire(); }));
  EXPECT_TRUE(throws(errc::unavailable, [&] { return mutex(c, "f", {.order = ordering::fifo}).try_acquire(); }));
  EXPECT_TRUE(throws(errc::unavailable, [&] { return reader.try_upgrade(); }));
  EXPECT_EQ(s.available(), 2);
  EXPECT_EQ(servers.master.command({"HGET", "rw", "mode"}), "read");
  EXPECT_TRUE(reader.valid());
  EXPECT_EQ(c.inspect("").size(), 1u) << "but for the reader nobody has anything";
  servers.replica(0).resume();
  EXPECT_TRUE(reader.try_upgrade());
}

TEST(redis_replicas, a_lock_that_is_handed_over_waits_for_them_too) {
  replicated servers(1);
  mutex ours(connect(servers.url("replicas=1&replicas-timeout=100ms")), "m");
  mutex theirs(connect(servers.master.url()), "m");
  lease held = theirs.acquire();
  auto waits = ours.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(eventually([&] { return servers.master.command({"ZCARD", "holdfast_line:{m}"}) == ":1"; }));
  servers.replica(0).pause();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, 500ms));
  servers.replica(0).resume();
  const lease next = waits.get();
  EXPECT_TRUE(next.valid());
  EXPECT_EQ(servers.replica(0).command({"EXISTS", "m"}), ":1");
}

TEST(redis_replicas, the_request_timeout_bounds_the_wait_for_them) {
  replicated servers(1);
  mutex m(connect(servers.url("replicas=1&replicas-timeout=1h"), {.request_timeout = 500ms}), "m");
  servers.replica(0).pause();
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); })); }), 5s);
}

TEST(redis_replicas, nobody_waits_for_them_unasked) {
  replicated servers(1);
  {
    const lease held = mutex(connect(servers.master.url()), "m").acquire();
  }
  EXPECT_EQ(servers.master.command(
                {"EVAL", "return string.find(redis.call('INFO', 'commandstats'), 'cmdstat_wait') or 0", "0"}),
            ":0");
  EXPECT_EQ(servers.master.command({"EXISTS", "holdfast_sync:{m}"}), ":0");
}

TEST(redis_replicas, a_lock_they_have_survives_the_death_of_the_master) {
  replicated servers(1);
  mutex m(connect(servers.url("replicas=1"), {.request_timeout = 1s}), "m");
  const lease held = m.acquire({.ttl = 60s});
  servers.fail_over_to(0);
  mutex other(connect(servers.replica(0).url()), "m");
  EXPECT_FALSE(other.try_acquire()) << "it is held there";
}

TEST(redis_replicas, a_lock_they_do_not_have_is_lost_with_the_master_and_the_token_tells) {
  replicated servers(1);
  servers.cut_off(0);
  EXPECT_TRUE(throws(errc::unavailable, [&] {
    return mutex(connect(servers.url("replicas=1&replicas-timeout=100ms")), "m").try_acquire();
  })) << "who asks for a replica is not let in at all";
  mutex m(connect(servers.master.url(), {.request_timeout = 1s}), "m");
  const lease held = m.acquire({.ttl = 60s});
  servers.fail_over_to(0);
  const client promoted = connect(servers.replica(0).url());
  mutex other(promoted, "m");
  const lease second = other.acquire({.wait = live_timeout});
  EXPECT_TRUE(held.valid()) << "two are inside";
  EXPECT_GT(second.token(), held.token());
  fence gate(promoted, "m");
  EXPECT_TRUE(gate.admit(second.token()));
  EXPECT_FALSE(gate.admit(held.token())) << "the first one's writes are turned away";
}

}  // namespace holdfast::testing
