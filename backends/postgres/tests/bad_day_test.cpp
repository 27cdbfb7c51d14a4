#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

void end_every_connection(const postgres_server& server) {
  server.query(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'");
}

bool waits(const client& c, const std::string& name, std::size_t how_many = 1) {
  return eventually([&] {
    const auto all = c.inspect(name);
    return !all.empty() && all.front().waiters.size() == how_many;
  });
}

constexpr const char* every_row = "SELECT * FROM holdfast.locks FOR UPDATE";

/// Somebody with psql who keeps what a statement locks, as long as this object lives.
class meddler {
 public:
  meddler(const postgres_server& server, const std::string& locks)
      : server_(server), session_([&server, locks] {
          try {
            server.query("BEGIN; " + locks + "; SELECT pg_sleep(120)");
          } catch (const std::runtime_error&) {
            return;  // ended from without
          }
        }) {
    const std::string asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    if (!eventually([&] { return server.query(asleep) == "1"; })) throw std::runtime_error("it cannot be had");
  }
  ~meddler() { server_.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"); }

 private:
  const postgres_server& server_;
  std::jthread session_;
};

}  // namespace

TEST(postgres_bad_day, a_server_that_was_killed_and_started_again_knows_the_holder) {
  postgres_server server({"synchronous_commit=on", "fsync=on"});
  mutex m(connect(server.url()), "m");
  lease held = m.acquire();
  mutex other(connect(server.url()), "m");
  server.kill();
  server.start();
  EXPECT_FALSE(other.try_acquire());
  EXPECT_TRUE(succeeded(held.renew()));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_GT(other.acquire({.wait = live_timeout}).token(), held.token());
}

TEST(postgres_bad_day, a_waiter_outlives_the_server) {
  postgres_server server({"synchronous_commit=on", "fsync=on"});
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m"));
  server.kill();
  server.start();
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST(postgres_bad_day, ended_connections_lose_neither_leases_nor_waiters) {
  const postgres_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url(), {.ttl = 3s}), "m");
  mutex theirs(connect(server.url()), "m");
  for (int i = 0; i < 5; ++i) {
    lease held = ours.acquire({.wait = live_timeout});
    auto next = theirs.async_acquire({.wait = live_timeout});
    ASSERT_TRUE(waits(watcher, "m"));
    end_every_connection(server);
    // One may end in the very moment it is asked: then nobody knows.
    EXPECT_TRUE(eventually([&] { return held.renew().has_value(); }));
    EXPECT_TRUE(succeeded(held.release()));
    lease handed = next.get();
    EXPECT_TRUE(handed.valid());
    EXPECT_TRUE(succeeded(handed.release()));
  }
}

TEST(postgres_bad_day, a_waiter_whose_listener_was_ended_gets_its_turn_all_the_same) {
  const postgres_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m"));
  server.query("SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l WHERE locktype = 'advisory'");
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST(postgres_bad_day, counts_stay_exact_while_connections_are_ended) {
  const postgres_server server;
  client c = connect(server.url());
  counting_semaphore permits(c, "s");
  ASSERT_TRUE(permits.try_set_permits(0));
  std::atomic<bool> stop{false};
  std::atomic<int> released{0};
  std::jthread killer([&] {
    // With a pause for each until the next one got through.
    for (int seen = 0; !stop; seen = released) {
      end_every_connection(server);
      static_cast<void>(eventually([&] { return stop || released > seen; }));
    }
  });
  for (; released < 200; ++released) permits.release(1);
  stop = true;
  killer.join();
  EXPECT_EQ(permits.available(), 200);
}

TEST(postgres_bad_day, a_read_only_server_is_unavailable_until_it_is_not) {
  const postgres_server server;
  client c = connect(server.url(), {.request_timeout = live_timeout});
  mutex m(c, "m");
  m.lock();
  m.unlock();
  server.query("ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return server.query("SHOW default_transaction_read_only") == "on"; }));
  const auto refused = [&] {
    try {
      return !m.try_acquire().has_value();
    } catch (const error& why) {
      EXPECT_EQ(why.code(), make_error_code(errc::unavailable)) << why.what();
      EXPECT_NE(std::string(why.what()).find("25006"), std::string::npos) << why.what();
      return true;
    }
  };
  EXPECT_TRUE(eventually(refused));
  auto waiting = m.async_acquire({.wait = live_timeout});
  server.query("SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only");
  server.query("SET default_transaction_read_only = off; SELECT pg_reload_conf()");
  EXPECT_TRUE(waiting.get().valid()) << "a wait goes on";
}

TEST(postgres_bad_day, serialization_and_deadlock_errors_are_tried_again) {
  const postgres_server server;
  client c = connect(server.url());
  mutex m(c, "m");
  m.lock();
  m.unlock();
  for (const std::string state : {"40001", "40P01"}) {
    // Every third change of the row is refused, as a server in trouble would.
    server.query(
        "CREATE SEQUENCE IF NOT EXISTS public.nth; CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE "
        "plpgsql "
        "AS $$ BEGIN IF nextval('public.nth') % 3 = 0 THEN RAISE EXCEPTION 'trouble' USING ERRCODE = '" +
        state +
        "'; END IF; RETURN NEW; END $$; CREATE OR REPLACE TRIGGER t BEFORE UPDATE ON holdfast.locks FOR EACH ROW "
        "EXECUTE FUNCTION refuse()");
    fencing_token last = 0;
    for (int i = 0; i < 20; ++i) {
      lease held = m.acquire({.wait = live_timeout});
      EXPECT_GT(held.token(), last);
      last = held.token();
      EXPECT_TRUE(succeeded(held.release()));
    }
  }
}

TEST(postgres_bad_day, a_full_disk_is_told_at_once) {
  const postgres_server server;
  client c = connect(server.url());
  mutex m(c, "m");
  m.lock();
  m.unlock();
  server.query(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend "
      "file' USING ERRCODE = '53100'; END $$; CREATE TRIGGER t BEFORE UPDATE ON holdfast.locks FOR EACH ROW "
      "EXECUTE FUNCTION refuse()");
  try {
    static_cast<void>(m.try_acquire());
    FAIL() << "the disk is full";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::rejected));
    EXPECT_NE(std::string(why.what()).find("disk is full"), std::string::npos) << why.what();
  }
}

TEST(postgres_bad_day, a_row_that_somebody_else_keeps_locked_is_unavailable_and_passes) {
  const postgres_server server;
  mutex m(connect(server.url(), {.request_timeout = 3s}), "m");
  m.lock();
  m.unlock();
  {
    const meddler keeps(server, every_row);
    try {
      static_cast<void>(m.try_acquire());
      FAIL() << "nobody can tell whether it is free";
    } catch (const error& why) {
      EXPECT_EQ(why.code(), make_error_code(errc::unavailable)) << why.what();
      EXPECT_NE(std::string(why.what()).find("55P03"), std::string::npos) << why.what();
    }
  }
  EXPECT_TRUE(eventually([&] { return m.try_acquire({.wait = live_timeout}).has_value(); }));
}

TEST(postgres_bad_day, who_only_asks_whether_it_is_free_waits_for_no_row) {
  const postgres_server server;
  mutex held(connect(server.url()), "m");
  const lease holds = held.acquire({.ttl = 2 * live_timeout});
  mutex asks(connect(server.url()), "m");
  const meddler keeps(server, every_row);
  EXPECT_FALSE(asks.try_acquire());
}

TEST(postgres_bad_day, who_has_it_alone_goes_although_others_queue_up) {
  const postgres_server server;
  mutex held(connect(server.url(), {.request_timeout = 3s}), "m");
  lease holds = held.acquire({.ttl = 2 * live_timeout});
  mutex asks(connect(server.url()), "m");
  {
    const meddler first(server,
                        R"(SELECT pg_advisory_xact_lock(hashtext('"holdfast"'), hashtext(encode('m', 'hex'))))");
    EXPECT_TRUE(holds.release());
    EXPECT_EQ(server.query("SELECT count(*) FROM holdfast.locks WHERE owner IS NOT NULL"), "0");
  }
  EXPECT_TRUE(asks.try_acquire({.wait = live_timeout}));
}

TEST(postgres_bad_day, the_defaults_of_the_server_do_not_matter) {
  const postgres_server server({"default_transaction_isolation=serializable", "idle_session_timeout=3000",
                                "lock_timeout=1", "bytea_output=escape", "TimeZone=Asia/Tokyo",
                                "standard_conforming_strings=off"});
  client c = connect(server.url());
  std::vector<std::jthread> threads;
  int counter = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      mutex m(connect(server.url()), "m");
      for (int i = 0; i < 20; ++i) {
        const std::scoped_lock guard(m);
        ++counter;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(counter, 120);
  const auto idle = [&](const std::string& how_long) {
    return server.query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %' AND state_change < "
        "clock_timestamp() - interval '" +
        how_long + "'");
  };
  EXPECT_TRUE(eventually([&] { return idle("4 seconds") == "1"; })) << "it is not ended for being idle";
  EXPECT_TRUE(cell(c, "c").compare_exchange(0, std::string("a\0b\\'\xff", 6)));
  EXPECT_EQ(cell(c, "c").load().value, std::string("a\0b\\'\xff", 6));
}

TEST(postgres_bad_day, functions_that_others_made_are_not_called) {
  const postgres_server server;
  client c = connect(server.url());
  // Better matches than what PostgreSQL itself has for these arguments.
  server.query(
      "CREATE FUNCTION public.mod(bigint, integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
      "'called'; END $$; CREATE FUNCTION public.concat(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE "
      "EXCEPTION 'called'; END $$");
  counting_semaphore permits(c, "s");
  permits.release(2);
  EXPECT_TRUE(permits.try_acquire());
}

}  // namespace holdfast::testing
