#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/mariadb_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

void end_connections(const mariadb_server& server, const std::string& which) {
  // One may be gone by itself meanwhile.
  server.query(
      "DELIMITER //\nBEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; FOR one IN (SELECT id FROM "
      "information_schema.processlist WHERE " +
      which + ") DO KILL one.id; END FOR; END//");
}

void end_every_connection(const mariadb_server& server) {
  end_connections(server, "user = 'root' AND id <> CONNECTION_ID()");
}

bool waits(const client& c, const std::string& name, std::size_t how_many = 1) {
  return eventually([&] {
    const auto all = c.inspect(name);
    return !all.empty() && all.front().waiters.size() == how_many;
  });
}

/// Somebody who keeps all rows of the locks to himself, until he ends.
class kept_rows {
 public:
  explicit kept_rows(const mariadb_server& server)
      : server_(server), meddler_([&server] {
          try {
            server.query("BEGIN; SELECT * FROM holdfast_locks FOR UPDATE; SELECT SLEEP(60); COMMIT");
          } catch (const std::runtime_error&) {  // killed: that is how it ends
            return;
          }
        }) {
    began_ = eventually([&] { return !sleeper().empty(); });
  }
  ~kept_rows() { end(); }

  bool began() const { return began_; }
  void end() const {
    if (const auto who = sleeper(); !who.empty()) server_.query("KILL QUERY " + who);
  }

 private:
  std::string sleeper() const {
    return server_.query("SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(60)%'");
  }

  const mariadb_server& server_;
  std::jthread meddler_;
  bool began_ = false;
};

}  // namespace

TEST(mysql_bad_day, a_server_that_was_killed_and_started_again_knows_the_holder) {
  mariadb_server server({"--innodb-flush-log-at-trx-commit=2"});
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

TEST(mysql_bad_day, a_waiter_outlives_the_server) {
  mariadb_server server({"--innodb-flush-log-at-trx-commit=2"});
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

TEST(mysql_bad_day, ended_connections_lose_neither_leases_nor_waiters) {
  const mariadb_server server;
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

TEST(mysql_bad_day, a_waiter_whose_listener_was_ended_gets_its_turn_all_the_same) {
  const mariadb_server server;
  client watcher = connect(server.url());
  mutex ours(connect(server.url()), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto next = theirs.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waits(watcher, "m"));
  end_connections(server, "info LIKE '%SLEEP(%' AND id <> CONNECTION_ID()");
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST(mysql_bad_day, counts_stay_exact_while_connections_are_ended) {
  const mariadb_server server;
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

TEST(mysql_bad_day, a_read_only_server_is_unavailable_until_it_is_not) {
  const mariadb_server server;
  static_cast<void>(connect(server.url()));  // makes the tables
  server.query("CREATE USER app; GRANT ALL ON holdfast.* TO app; SET GLOBAL read_only = ON");
  client c = connect(server.url("", "app"), {.request_timeout = live_timeout});
  mutex m(c, "m");
  const auto refused = [&] {
    try {
      return !m.try_acquire().has_value();
    } catch (const error& why) {
      EXPECT_EQ(why.code(), make_error_code(errc::unavailable)) << why.what();
      EXPECT_NE(std::string(why.what()).find("1290"), std::string::npos) << why.what();
      return true;
    }
  };
  EXPECT_TRUE(eventually(refused));
  auto waiting = m.async_acquire({.wait = live_timeout});
  server.query("SET GLOBAL read_only = OFF");
  EXPECT_TRUE(waiting.get().valid()) << "a wait goes on";
}

TEST(mysql_bad_day, the_victim_of_a_deadlock_is_asked_again) {
  const mariadb_server server;
  client c = connect(server.url());
  mutex m(c, "m");
  m.lock();
  m.unlock();
  // Every third change of the row is refused, as a server in trouble would. What counts them is not rolled back.
  server.query(
      "CREATE TABLE nth(n int) ENGINE=MyISAM; INSERT INTO nth VALUES(0);\nDELIMITER //\nCREATE TRIGGER t BEFORE UPDATE "
      "ON holdfast_locks FOR EACH ROW BEGIN UPDATE nth SET n = n + 1; IF (SELECT n FROM nth) % 3 = 0 THEN SIGNAL "
      "SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'trouble'; END IF; END//");
  fencing_token last = 0;
  for (int i = 0; i < 20; ++i) {
    lease held = m.acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_TRUE(succeeded(held.release()));
  }
  EXPECT_GE(std::stoi(server.query("SELECT n FROM nth")), 50) << "nothing was refused";
}

TEST(mysql_bad_day, a_full_disk_is_told_at_once) {
  const mariadb_server server;
  client c = connect(server.url());
  mutex m(c, "m");
  m.lock();
  m.unlock();
  server.query(
      "CREATE TRIGGER t BEFORE UPDATE ON holdfast_locks FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1021, "
      "MESSAGE_TEXT = 'no space left'");
  try {
    static_cast<void>(m.try_acquire());
    FAIL() << "the disk is full";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::rejected));
    EXPECT_NE(std::string(why.what()).find("disk is full"), std::string::npos) << why.what();
  }
}

TEST(mysql_bad_day, one_that_is_refused_does_not_hold_up_those_that_go_out_with_it) {
  const mariadb_server server;
  client c = connect(server.url());
  static_cast<void>(mutex(c, "bad").try_acquire());
  server.query(
      "DELIMITER //\nCREATE TRIGGER t BEFORE UPDATE ON holdfast_locks FOR EACH ROW BEGIN IF NEW.name = 'bad' THEN "
      "SIGNAL SQLSTATE "
      "'HY000' SET MYSQL_ERRNO = 1021; END IF; END//");
  std::atomic<int> good{0};
  std::atomic<int> refused{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        try {
          cell(c, "c" + std::to_string(t)).update([](const std::string& v) { return v + "x"; });
          ++good;
          if (t % 2 == 0) static_cast<void>(mutex(c, "bad").try_acquire());
        } catch (const error&) {
          ++refused;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good, 240);
  EXPECT_GT(refused, 0);
  for (int t = 0; t < 8; ++t) EXPECT_EQ(cell(c, "c" + std::to_string(t)).load().value, std::string(30, 'x'));
}

TEST(mysql_bad_day, a_row_that_somebody_else_keeps_locked_is_unavailable_and_passes) {
  const mariadb_server server;
  client c = connect(server.url(), {.request_timeout = 4s});
  mutex m(c, "m");
  m.lock();
  m.unlock();
  std::jthread meddler(
      [&] { server.query("BEGIN; SELECT * FROM holdfast_locks FOR UPDATE; SELECT SLEEP(3); COMMIT"); });
  const auto kept = [&] {
    try {
      static_cast<void>(m.try_acquire());
      return false;
    } catch (const error& why) {
      EXPECT_EQ(why.code(), make_error_code(errc::unavailable)) << why.what();
      return std::string(why.what()).find("1205") != std::string::npos;
    }
  };
  ASSERT_TRUE(eventually(kept));
  EXPECT_TRUE(eventually([&] { return m.try_acquire({.wait = live_timeout}).has_value(); }));
}

TEST(mysql_bad_day, a_statement_that_is_killed_takes_its_connection_with_it) {
  // Between two of its steps a procedure that is killed leaves its transaction open.
  const mariadb_server server;
  mutex m(connect(server.url(), {.request_timeout = live_timeout}), "m");
  m.lock();
  m.unlock();
  kept_rows kept(server);
  ASSERT_TRUE(kept.began());
  auto held = std::async(std::launch::async, [&] { return m.acquire(); });
  std::string who;
  ASSERT_TRUE(eventually([&] {
    who = server.query("SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE%holdfast_locks%'");
    return !who.empty();
  }));
  server.query("KILL QUERY " + who);
  EXPECT_TRUE(eventually(
      [&] { return server.query("SELECT count(*) FROM information_schema.processlist WHERE id = " + who) == "0"; }));
  kept.end();
  EXPECT_TRUE(held.get().valid());
}

TEST(mysql_bad_day, readers_whose_time_is_over_keep_nobody_out_whoever_found_them) {
  const mariadb_server server;
  shared_mutex m(connect(server.url()), "m");
  const auto enter = [&](const std::string& owner, int access, int ttl, int last) {
    return server.query("CALL holdfast_enter('m', 2, '" + owner + "', " + std::to_string(access) + ", 1, 1, 1, " +
                        std::to_string(ttl) + ", 0, 60000000, 0, '', 0, " + std::to_string(last) + ")");
  };
  ASSERT_TRUE(enter("reader0000000000", 2, 1, 0).starts_with("1"));
  ASSERT_TRUE(enter("writer0000000000", 1, 1'000'000, 1).starts_with("4")) << "it came too late";
  EXPECT_TRUE(m.try_lock());
  m.unlock();
  // Whatever else may have left the number behind.
  server.query("UPDATE holdfast_locks SET shares = 1");
  EXPECT_TRUE(m.try_lock());
}

TEST(mysql_bad_day, the_defaults_of_the_server_do_not_matter) {
  const mariadb_server server({"--transaction-isolation=SERIALIZABLE", "--wait-timeout=3",
                               "--innodb-lock-wait-timeout=1", "--max-statement-time=1", "--sql-mode=ORACLE",
                               "--default-time-zone=+09:00", "--autocommit=0", "--character-set-server=latin1"});
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
  const auto idle = [&] {
    return server.query("SELECT count(*) FROM information_schema.processlist WHERE command = 'Sleep' AND time >= 4");
  };
  EXPECT_TRUE(eventually([&] { return idle() == "1"; })) << "it is not ended for being idle";
  EXPECT_TRUE(cell(c, "c").compare_exchange(0, std::string("a\0b\\'\xff", 6)));
  EXPECT_EQ(cell(c, "c").load().value, std::string("a\0b\\'\xff", 6));
}

}  // namespace holdfast::testing
