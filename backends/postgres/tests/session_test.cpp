#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/pgbouncer.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

// scheme=session: advisory locks that connections hold.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

// Of the name "m", as DistributedLock would have it.
const std::string key_of_m = "-620756993, -1";
const std::string scheme = "?scheme=session";

std::string count_of(const postgres_server& server, const std::string& which) {
  return server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %' AND " + which);
}

/// Sessions that hold a number of ours, which all do that hold locks.
std::size_t sessions(const postgres_server& server) {
  return std::stoul(
      server.query("SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND classid "
                   "> 2147483647"));
}

std::size_t waiting(const postgres_server& server) {
  return std::stoul(server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"));
}

/// Some other program that takes the same advisory lock, and has it until this goes.
class stranger {
 public:
  stranger(const postgres_server& server, const std::string& call)
      : server_(server), busy_(std::async(std::launch::async, [&server, call] {
          try {
            server.query("SET application_name = 'stranger'; SELECT " + call + "; SELECT pg_sleep(100)");
          } catch (const std::runtime_error&) {  // it is ended
            return;
          }
        })) {}
  ~stranger() { end(); }

  bool has_it() const {
    return eventually([this] {
      return server_.query(
                 "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stranger' AND wait_event = "
                 "'PgSleep'") == "1";
    });
  }
  void end() {
    if (!busy_.valid()) return;
    server_.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'stranger'");
    busy_.get();
  }

 private:
  const postgres_server& server_;
  std::future<void> busy_;
};

}  // namespace

TEST(postgres_session, a_stranger_with_the_same_key_and_we_exclude_each_other) {
  const postgres_server server;
  mutex m(connect(server.url(scheme)), "m");
  {
    stranger other(server, "pg_advisory_lock(" + key_of_m + ")");
    ASSERT_TRUE(other.has_it());
    EXPECT_FALSE(m.try_acquire());
    auto next = m.async_acquire({.wait = live_timeout});
    ASSERT_TRUE(eventually([&] { return waiting(server) == 1; }));
    EXPECT_FALSE(next.ready());
    other.end();
    lease ours = next.get();
    EXPECT_EQ(server.query("SELECT pg_try_advisory_lock(" + key_of_m + ")"), "f");
    EXPECT_TRUE(succeeded(ours.release()));
  }
  EXPECT_EQ(server.query("SELECT pg_try_advisory_lock(" + key_of_m + ")"), "t");
}

TEST(postgres_session, a_stranger_that_reads_lets_readers_in_and_no_writer) {
  const postgres_server server;
  shared_mutex m(connect(server.url(scheme)), "m");
  const stranger other(server, "pg_advisory_lock_shared(" + key_of_m + ")");
  ASSERT_TRUE(other.has_it());
  EXPECT_TRUE(m.try_acquire_shared());
  EXPECT_FALSE(m.try_acquire());
}

TEST(postgres_session, a_stranger_can_be_evicted) {
  const postgres_server server;
  client c = connect(server.url(scheme));
  stranger other(server, "pg_advisory_lock(" + key_of_m + ")");
  ASSERT_TRUE(other.has_it());
  EXPECT_TRUE(c.evict("m"));
  EXPECT_TRUE(mutex(c, "m").try_acquire({.wait = live_timeout}));
  EXPECT_FALSE(c.evict("another"));
}

TEST(postgres_session, the_end_of_the_session_is_told_at_once) {
  const postgres_server server;
  client c = connect(server.url(scheme), {.ttl = 60s});
  const lease one = mutex(c, "m").acquire();
  const lease two = mutex(c, "another").acquire();
  EXPECT_LT(
      time_taken([&] {
        server.query("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2");
        EXPECT_TRUE(eventually([&] { return one.lost().stop_requested() && two.lost().stop_requested(); }));
      }),
      10s)
      << "not when the ttl ends";
  EXPECT_EQ(one.loss_cause(), loss::session_ended);
  EXPECT_TRUE(mutex(c, "m").try_acquire()) << "on another session";
}

TEST(postgres_session, a_killed_holder_frees_its_locks_at_once_and_a_stopped_one_after_its_ttl) {
  const postgres_server server;
  mutex m(connect(server.url(scheme)), "m");
  {
    holder_process killed = holder_process::connected(server.url(scheme), 60s);
    killed.granted("acquire mutex m");
    EXPECT_FALSE(m.try_acquire());
    killed.kill();
    EXPECT_LT(time_taken([&] { EXPECT_TRUE(m.try_acquire({.wait = live_timeout})); }), 20s) << "not after its ttl";
  }
  holder_process stopped = holder_process::connected(server.url(scheme), 2s);
  stopped.granted("acquire mutex m");
  stopped.pause();
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout})) << "the server ends its session";
  stopped.resume();
  EXPECT_TRUE(eventually([&] { return stopped.ask("lost") == "yes"; }));
}

TEST(postgres_session, many_locks_are_on_few_connections) {
  const postgres_server server;
  client c = connect(server.url(scheme));
  client other = connect(server.url(scheme));
  std::vector<lease> held;
  for (int i = 0; i < 500; ++i) held.push_back(mutex(c, "lock number " + std::to_string(i)).acquire());
  EXPECT_LE(std::stoi(count_of(server, "true")), 6) << "of both clients";
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(mutex(other, "lock number " + std::to_string(i)).try_acquire()) << i;
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(mutex(other, "free " + std::to_string(i)).try_acquire()) << i;
  for (auto& one : held) EXPECT_TRUE(succeeded(one.release()));
  EXPECT_TRUE(mutex(other, "lock number 17").try_acquire());
}

TEST(postgres_session, a_wait_that_is_blocked_delays_no_release) {
  const postgres_server server;
  client ours = connect(server.url(scheme));
  client theirs = connect(server.url(scheme));
  const lease held = mutex(theirs, "m").acquire();
  lease mine = mutex(ours, "mine").acquire();
  auto waits = mutex(ours, "m").async_acquire({.wait = live_timeout});
  ASSERT_TRUE(eventually([&] { return waiting(server) == 1; }));
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(succeeded(mine.release())); }), 1s);
  EXPECT_TRUE(mutex(theirs, "mine").try_acquire());
  EXPECT_FALSE(waits.ready());
}

TEST(postgres_session, a_reader_that_waits_keeps_no_other_from_its_answer) {
  const postgres_server server;
  client ours = connect(server.url(scheme));
  client theirs = connect(server.url(scheme));
  {
    const lease held = mutex(theirs, "busy").acquire();
    EXPECT_FALSE(mutex(ours, "busy").try_acquire({.wait = 100ms}));  // there is a session now that may wait
  }
  shared_mutex inside(ours, "m");
  shared_mutex behind(ours, "m");
  shared_mutex asks(ours, "m");
  lease reader = inside.acquire_shared();
  auto writer = shared_mutex(theirs, "m").async_acquire();
  ASSERT_TRUE(eventually([&] { return waiting(server) == 1; }));
  // Without a limit: then the backend may use the thread for as long as it takes.
  auto waits = std::async(std::launch::async, [&] { behind.lock_shared(); });
  ASSERT_TRUE(eventually([&] { return waiting(server) == 2; }));
  auto answer = std::async(std::launch::async, [&] { return asks.try_lock_shared(); });
  EXPECT_EQ(answer.wait_for(live_timeout), std::future_status::ready);
  EXPECT_TRUE(succeeded(reader.release()));
  EXPECT_TRUE(succeeded(writer.get().release()));
  waits.get();
  behind.unlock_shared();
  EXPECT_FALSE(answer.get());
}

TEST(postgres_session, a_wait_that_ends_leaves_the_line_at_the_server) {
  const postgres_server server;
  client ours = connect(server.url(scheme));
  mutex m(connect(server.url(scheme)), "m");
  lease held = m.acquire();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(mutex(ours, "m").try_acquire({.wait = 100ms}));
  EXPECT_TRUE(eventually([&] { return waiting(server) == 0; }));
  EXPECT_LE(sessions(server), 5u) << "sessions that waited are used again";
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(mutex(ours, "m").try_acquire({.wait = live_timeout}));
}

TEST(postgres_session, there_are_no_more_connections_than_allowed_and_everybody_gets_in) {
  const postgres_server server;
  client theirs = connect(server.url(scheme));
  client ours = connect(server.url(scheme + "&connections=3"));
  std::vector<lease> held;
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 8; ++i) held.push_back(mutex(theirs, "m" + std::to_string(i)).acquire());
  for (int i = 0; i < 8; ++i)
    waits.push_back(mutex(ours, "m" + std::to_string(i)).async_acquire({.wait = live_timeout}));
  ASSERT_TRUE(eventually([&] { return waiting(server) == 2; })) << "two wait at the server, one tries";
  EXPECT_EQ(sessions(server), 4u) << "one is theirs";
  for (int i = 7; i >= 0; --i) {
    EXPECT_TRUE(succeeded(held[static_cast<std::size_t>(i)].release()));
    EXPECT_TRUE(waits[static_cast<std::size_t>(i)].get().valid()) << i;
  }
}

TEST(postgres_session, a_client_may_have_more_readers_than_connections) {
  const postgres_server server;
  shared_mutex m(connect(server.url(scheme + "&connections=3")), "m");
  shared_mutex other(connect(server.url(scheme)), "m");
  std::vector<lease> readers;
  for (int i = 0; i < 40; ++i) readers.push_back(m.acquire_shared({.wait = live_timeout}));
  EXPECT_FALSE(other.try_acquire());
  while (readers.size() > 1) {
    EXPECT_TRUE(succeeded(readers.back().release()));
    readers.pop_back();
  }
  EXPECT_FALSE(other.try_acquire()) << "one is left";
  EXPECT_TRUE(succeeded(readers.back().release()));
  EXPECT_TRUE(other.try_acquire());
}

TEST(postgres_session, without_room_at_the_server_who_waits_looks_again) {
  const postgres_server server({"max_connections=8", "superuser_reserved_connections=0", "max_wal_senders=0"});
  client theirs = connect(server.url(scheme));
  client ours = connect(server.url(scheme));
  std::vector<lease> held;
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 8; ++i) held.push_back(mutex(theirs, "m" + std::to_string(i)).acquire());
  static_cast<void>(mutex(ours, "free").acquire());
  for (int i = 0; i < 8; ++i)
    waits.push_back(mutex(ours, "m" + std::to_string(i)).async_acquire({.wait = live_timeout}));
  for (auto& one : held) EXPECT_TRUE(succeeded(one.release()));
  for (auto& one : waits) EXPECT_TRUE(one.get().valid());
}

TEST(postgres_session, a_session_without_locks_is_kept_and_not_ended_for_being_idle) {
  const postgres_server server;
  client c = connect(server.url(scheme), {.ttl = 1s});
  static_cast<void>(mutex(c, "m").acquire());
  const auto who = [&] {
    return server.query(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND classid > 2147483647");
  };
  const std::string before = who();
  const auto then = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - then > 2500ms; }));
  EXPECT_EQ(who(), before);
  EXPECT_TRUE(mutex(c, "m").try_acquire());
}

TEST(postgres_session, names_in_use_under_another_scheme_are_not_taken) {
  const postgres_server server;
  mutex by_lease(connect(server.url()), "m");
  mutex by_session(connect(server.url(scheme)), "m");
  {
    const lease held = by_lease.acquire();
    EXPECT_FALSE(by_session.try_acquire());
  }
  const lease held = by_session.acquire({.wait = live_timeout});
  EXPECT_FALSE(by_lease.try_acquire());
}

class postgres_session_pooler : public ::testing::TestWithParam<const char*> {};

TEST_P(postgres_session_pooler, one_that_shares_out_sessions_is_refused_with_the_reason) {
  const postgres_server server;
  const pgbouncer between(server, GetParam());
  try {
    static_cast<void>(connect(between.url() + "?scheme=session"));
    FAIL() << "its locks would be anybody's";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::rejected)) << why.what();
    EXPECT_NE(std::string(why.what()).find("pool_mode=session"), std::string::npos) << why.what();
  }
}

INSTANTIATE_TEST_SUITE_P(mode, postgres_session_pooler, ::testing::Values("transaction", "statement"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace holdfast::testing
