#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

// Requests of which nobody knows whether they were carried out, or that are carried out late, or twice; and clients of
// which nobody knows whether they are there.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string through(const cutting_proxy& proxy) {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres";
}

bool waits(const client& c, const std::string& name, std::size_t how_many = 1) {
  return eventually([&] {
    const auto all = c.inspect(name);
    return !all.empty() && all.front().waiters.size() == how_many;
  });
}

/// Of every second change of a lock's row the server makes an error.
void refuse_every_second_change(const postgres_server& server, const std::string& state) {
  server.query(
      "CREATE SEQUENCE public.nth; CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF "
      "nextval('public.nth') % 2 = 1 THEN RAISE EXCEPTION 'trouble' USING ERRCODE = '" +
      state +
      "'; END IF; RETURN NEW; END $$; CREATE TRIGGER t BEFORE UPDATE ON holdfast.locks FOR EACH ROW EXECUTE FUNCTION "
      "public.refuse()");
}

/// Whether the last thing a connection did, and after `since`, was to run `routine`.
bool ran(const postgres_server& server, const std::string& routine, const std::string& since) {
  return eventually([&] {
    return server.query("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle' AND query LIKE '%." + routine +
                        "(%' AND query_start > '" + since + "'") == "1";
  });
}

std::string time_of(const postgres_server& server) { return server.query("SELECT clock_timestamp()"); }

/// Somebody at a console is in the midst of `statements` until the object goes.
class console {
 public:
  console(const postgres_server& server, const std::string& statements)
      : server_(server), busy_(std::async(std::launch::async, [&server, statements] {
          server.query("SET application_name = 'console'; BEGIN; " + statements +
                       "; DO $$ BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END $$; COMMIT");
        })) {
    began_ = eventually([&] { return count("wait_event = 'PgSleep'") == "1"; });
  }
  ~console() { end(); }

  bool began() const { return began_; }
  /// What it did is committed.
  void end() {
    if (!busy_.valid()) return;
    server_.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'console'");
    busy_.get();
  }

 private:
  std::string count(const std::string& which) const {
    return server_.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'console' AND " + which);
  }

  const postgres_server& server_;
  std::future<void> busy_;
  bool began_ = false;
};

}  // namespace

TEST(postgres_doubt, a_statement_that_fails_when_it_is_first_used_is_used_again) {
  for (const std::string state : {"40001", "55P03", "57014"}) {
    const postgres_server server;
    static_cast<void>(mutex(connect(server.url()), "m").acquire());  // the row is there
    refuse_every_second_change(server, state);
    mutex m(connect(server.url()), "m");
    lease held = m.acquire({.wait = live_timeout});
    EXPECT_TRUE(eventually([&] { return held.renew().has_value(); })) << state;
    static_cast<void>(held.release());  // told that it failed, and tried again behind the caller's back
    EXPECT_TRUE(mutex(connect(server.url()), "m").acquire({.wait = live_timeout}).valid()) << state;
  }
}

TEST(postgres_doubt, permits_are_not_taken_by_a_request_that_comes_after_it_was_given_up) {
  const postgres_server server;
  cutting_proxy proxy(server.port());
  client c = connect(through(proxy), {.request_timeout = 1s});
  counting_semaphore permits(c, "s");
  ASSERT_TRUE(permits.try_set_permits(3));
  ASSERT_TRUE(permits.try_acquire());
  const std::string then = time_of(server);
  proxy.keep("holdfast_enter_number");
  EXPECT_THROW(static_cast<void>(permits.try_acquire()), error);
  ASSERT_TRUE(ran(server, "leave_number", then));
  proxy.deliver();
  ASSERT_TRUE(ran(server, "enter_number", then)) << "it is carried out late";
  EXPECT_EQ(server.query("SELECT value FROM holdfast.locks WHERE name = 's'"), "2");
}

TEST(postgres_doubt, a_lock_is_not_taken_by_a_request_that_comes_after_it_was_given_up) {
  const postgres_server server;
  cutting_proxy proxy(server.port());
  mutex m(connect(through(proxy), {.request_timeout = 1s}), "m");
  static_cast<void>(m.acquire());
  const std::string then = time_of(server);
  proxy.keep("holdfast_enter");
  EXPECT_THROW(static_cast<void>(m.try_acquire()), error);
  ASSERT_TRUE(ran(server, "leave", then));
  proxy.deliver();
  ASSERT_TRUE(ran(server, "enter", then)) << "it is carried out late";
  EXPECT_EQ(server.query("SELECT count(owner) FROM holdfast.locks"), "0");
}

TEST(postgres_doubt, the_very_first_request_is_not_carried_out_after_it_was_given_up_either) {
  const postgres_server server;
  cutting_proxy proxy(server.port());
  mutex m(connect(through(proxy), {.request_timeout = 1s}), "m");
  const std::string then = time_of(server);
  proxy.keep("holdfast_enter");
  EXPECT_THROW(static_cast<void>(m.try_acquire()), error);
  ASSERT_TRUE(ran(server, "leave", then));
  proxy.deliver();
  ASSERT_TRUE(ran(server, "enter", then)) << "it is carried out late";
  EXPECT_EQ(server.query("SELECT count(owner) FROM holdfast.locks"), "0");
}

TEST(postgres_doubt, a_downgrade_that_is_carried_out_late_changes_nothing) {
  const postgres_server server;
  shared_mutex m(connect(server.url()), "m");
  lease alone = m.acquire({.ttl = 2 * live_timeout});
  EXPECT_EQ(server.query("SELECT holdfast.convert('m', owner, 2, 1) FROM holdfast.locks"), "-2");
  EXPECT_FALSE(shared_mutex(connect(server.url()), "m").try_lock_shared());
}

TEST(postgres_doubt, readers_whose_time_is_over_keep_nobody_out_whoever_found_them) {
  const postgres_server server;
  shared_mutex m(connect(server.url()), "m");
  const auto enter = [&](const std::string& owner, int access, int ttl, int last) {
    return server.query("SELECT holdfast.enter('m', 2, '" + owner + "', " + std::to_string(access) + ", 1, 1, 1, " +
                        std::to_string(ttl) + ", 0, 60000000, 0, '', 0, " + std::to_string(last) + ")");
  };
  ASSERT_TRUE(enter("reader", 2, 1, 0).starts_with("(1,"));
  ASSERT_TRUE(enter("writer", 1, 1'000'000, 1).starts_with("(4,")) << "it came too late";
  EXPECT_TRUE(m.try_lock());
  m.unlock();
  // Whatever else may have left the number behind.
  server.query("UPDATE holdfast.locks SET shares = 1");
  EXPECT_TRUE(m.try_lock());
}

TEST(postgres_doubt, a_clock_that_jumps_makes_no_request_too_late) {
  const postgres_server server;
  mutex m(connect(server.url()), "m");
  static_cast<void>(m.acquire());
  // The database's clock, an hour ahead from now on.
  const std::string enter = server.query("SELECT pg_get_functiondef('holdfast.enter'::regproc)");
  std::string ahead = enter;
  const std::string now = "clock_timestamp()";
  for (auto at = ahead.find(now); at != ahead.npos; at = ahead.find(now, at + now.size() + 20))
    ahead.replace(at, now.size(), "(clock_timestamp() + interval '1 hour')");
  server.query(ahead);
  EXPECT_TRUE(m.try_acquire());
}

TEST(postgres_doubt, an_exchange_that_is_sent_twice_is_made_once_and_both_are_told) {
  const postgres_server server;
  cell c(connect(server.url()), "c");
  ASSERT_TRUE(c.compare_exchange(0, "one"));
  const std::string again =
      "SELECT holdfast.exchange_cell('c', 1, 'two', '\\x00112233445566778899aabbccddeeff', 60000000)";
  console first(server, again);
  ASSERT_TRUE(first.began());
  auto second = std::async(std::launch::async, [&] { return server.query(again); });
  ASSERT_TRUE(eventually(
      [&] { return server.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "1"; }));
  first.end();
  EXPECT_EQ(second.get(), "1");
  EXPECT_EQ(c.load().version, 2u);
}

TEST(postgres_doubt, a_waiter_on_a_machine_that_is_gone_is_passed_over) {
  const postgres_server server;
  cutting_proxy proxy(server.port());
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto gone = std::make_unique<holder_process>(holder_process::connected(through(proxy), 30s));
  gone->tell("acquire mutex m");
  ASSERT_TRUE(waits(watcher, "m"));
  // The server is not told of its end: its connection seems to be there.
  proxy.hang();
  gone.reset();
  server.query("UPDATE holdfast.queue SET alive_until = 1");
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m"));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(next.get().valid()); }), 15s) << "not when the ttl of who is gone ends";
}

TEST(postgres_doubt, one_row_that_is_kept_costs_the_others_nothing) {
  const postgres_server server;
  client c = connect(server.url(), {.ttl = 8s, .request_timeout = 2s});
  std::vector<lease> held;
  for (int i = 0; i < 20; ++i) held.push_back(mutex(c, "lock " + std::to_string(i)).acquire());
  const lease& kept = held[7];
  const console meddler(server, "SELECT * FROM holdfast.locks WHERE name = 'lock 7' FOR UPDATE");
  ASSERT_TRUE(meddler.began());
  EXPECT_TRUE(eventually([&] { return !kept.valid(); })) << "it cannot be renewed";
  for (const lease& one : held) EXPECT_EQ(one.valid(), &one != &kept);
}

TEST(postgres_doubt, a_renewal_that_is_carried_out_late_shortens_nothing) {
  const postgres_server server;
  mutex m(connect(server.url()), "m");
  const lease held = m.acquire({.ttl = 60s});
  const auto ends = [&] { return std::stoll(server.query("SELECT expires FROM holdfast.locks")); };
  const auto before = ends();
  EXPECT_EQ(server.query("SELECT holdfast.renew(name, owner, 1000000) FROM holdfast.locks"), "1");
  // A microsecond more, so that every dialect counts it as a change.
  EXPECT_EQ(ends(), before + 1);
}

TEST(postgres_doubt, a_lease_that_is_upgraded_is_not_lost_to_the_renewer) {
  const postgres_server server;
  shared_mutex m(connect(server.url()), "m");
  const lease held = m.acquire_shared({.ttl = 60s});
  server.query("CREATE TABLE public.who AS SELECT owner FROM holdfast.holds");
  console upgrade(server, "SELECT holdfast.convert('m', (SELECT owner FROM public.who), 1, 0)");
  ASSERT_TRUE(upgrade.began());
  auto renewed = std::async(std::launch::async, [&] {
    return server.query("SELECT holdfast.renew('m', (SELECT owner FROM public.who), 60000000)");
  });
  ASSERT_TRUE(eventually(
      [&] { return server.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "1"; }));
  upgrade.end();
  EXPECT_EQ(renewed.get(), "1");
}

TEST(postgres_doubt, what_is_handed_to_nobody_is_given_back) {
  const postgres_server server;
  client c = connect(server.url());
  client other = connect(server.url());
  mutex m(other, "m");
  lease first = mutex(other, "elsewhere").acquire();
  lease held = m.acquire({.ttl = 60s});
  auto waiting = mutex(c, "elsewhere").async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(other, "elsewhere"));
  // A place in line that its client knows nothing of any more.
  server.query(
      "INSERT INTO holdfast.queue SELECT 'm', 1, '\\x00112233445566778899aabbccddeeff', access, permits, tokens, "
      "60000000, since, alive_until + 60000000, client, holder FROM holdfast.queue; UPDATE holdfast.locks SET awaited "
      "= 1 WHERE name = 'm'");
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(m.try_acquire({.wait = live_timeout})); }), 20s);
  EXPECT_TRUE(succeeded(first.release()));
  EXPECT_TRUE(waiting.get().valid());
}

TEST(postgres_doubt, a_line_of_the_dead_keeps_no_name_from_numbers_nor_theirs_from_locks) {
  const postgres_server server;
  client c = connect(server.url());
  const auto die_in_line = [&](const std::string& name, const std::string& command) {
    holder_process dead = holder_process::connected(server.url(), 30s);
    dead.tell(command);
    ASSERT_TRUE(waits(c, name));
    dead.kill();
    ASSERT_TRUE(eventually([&] { return c.inspect(name).empty() || c.inspect(name).front().waiters.empty(); }));
  };
  lease held = mutex(c, "a").acquire();
  die_in_line("a", "acquire mutex a");
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(counting_semaphore(c, "a").try_set_permits(1));
  lease again = mutex(c, "b").acquire();
  die_in_line("b", "acquire mutex b");
  EXPECT_TRUE(succeeded(again.release()));
  EXPECT_FALSE(counting_semaphore(c, "b").try_acquire());
  // An open latch and a dead one before it are nothing.
  server.query(
      "INSERT INTO holdfast.locks(name, kind, fence, awaited) VALUES('d', 5, 1, 1); INSERT INTO holdfast.queue "
      "VALUES('d', 1, '\\x00', 1, 1, 1, 1, 1, 9000000000000000, 4711, '')");
  EXPECT_TRUE(mutex(c, "d").try_acquire());
}

}  // namespace holdfast::testing
