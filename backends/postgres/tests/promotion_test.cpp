#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <fstream>

// The primary is lost and its standby takes over.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// The primary first, and the standby for when it can be written to.
std::string both(const postgres_server& primary, const postgres_server& standby) {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(primary.port()) +
         ",127.0.0.1:" + std::to_string(standby.port()) + "/postgres";
}

bool streams(const postgres_server& primary, const std::string& how) {
  return eventually([&] {
    return primary.query("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '" + how +
                         "'") == "1";
  });
}

/// Nothing of what happens at the primary from here on reaches the standby.
void fall_behind(const postgres_server& primary) {
  std::ofstream(primary.data() + "/pg_hba.conf") << "host replication all 127.0.0.1/32 reject\n"
                                                    "host all all 127.0.0.1/32 trust\n";
  primary.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] {
    primary.query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_replication");
    return primary.query("SELECT count(*) FROM pg_stat_replication") == "0";
  }));
}

const std::vector<std::string> durable{"fsync=on", "synchronous_commit=on"};

}  // namespace

TEST(postgres_promotion, a_synchronous_standby_knows_who_holds) {
  postgres_server primary(durable);
  const postgres_server standby(postgres_server::standby_of{primary}, durable);
  primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  primary.query("SELECT pg_reload_conf()");
  ASSERT_TRUE(streams(primary, "sync"));
  mutex ours(connect(both(primary, standby)), "m");
  lease held = ours.acquire();
  primary.kill();
  standby.query("SELECT pg_promote()");
  mutex theirs(connect(both(primary, standby), {.connect_timeout = live_timeout}), "m");
  EXPECT_FALSE(theirs.try_acquire()) << "nothing was forgotten";
  EXPECT_TRUE(eventually([&] { return held.renew().has_value(); })) << "the holder goes on at the new primary";
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_GT(theirs.acquire({.wait = live_timeout}).token(), held.token());
}

TEST(postgres_promotion, an_asynchronous_standby_may_forget_and_the_token_catches_it) {
  postgres_server primary(durable);
  const postgres_server standby(postgres_server::standby_of{primary}, durable);
  ASSERT_TRUE(streams(primary, "async"));
  mutex ours(connect(both(primary, standby)), "m");
  static_cast<void>(ours.acquire());  // the tables and the row are there on both
  ASSERT_TRUE(eventually([&] { return standby.query("SELECT count(*) FROM holdfast.locks") == "1"; }));
  fall_behind(primary);
  lease held = ours.acquire();
  primary.kill();
  standby.query("SELECT pg_promote()");
  client other = connect(both(primary, standby), {.connect_timeout = live_timeout});
  auto second = mutex(other, "m").try_acquire({.wait = live_timeout});
  ASSERT_TRUE(second) << "it was forgotten that anybody holds it";
  EXPECT_TRUE(held.valid()) << "and the first does not know yet";
  EXPECT_GT(second->token(), held.token()) << "although the standby never heard of that token";
  fence guard(other, "m");
  EXPECT_TRUE(guard.admit(second->token()));
  EXPECT_FALSE(guard.admit(held.token()));
  ASSERT_TRUE(eventually([&] {
    const auto renewed = held.renew();
    return !renewed && renewed.error().code == make_error_code(errc::lost);
  })) << "the first finds out when it asks";
}

TEST(postgres_promotion, a_server_that_turned_read_only_is_left_for_the_new_primary) {
  const postgres_server primary(durable);
  const postgres_server standby(postgres_server::standby_of{primary}, durable);
  ASSERT_TRUE(streams(primary, "async"));
  mutex m(connect(both(primary, standby)), "m");
  static_cast<void>(m.acquire());
  ASSERT_TRUE(eventually([&] { return standby.query("SELECT count(*) FROM holdfast.locks") == "1"; }));
  standby.query("SELECT pg_promote()");
  primary.query("ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return primary.query("SHOW default_transaction_read_only") == "on"; }));
  EXPECT_TRUE(eventually([&] {
    try {
      static_cast<void>(m.acquire({.wait = live_timeout}));
    } catch (const error&) {
    }
    return standby.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'holdfast %'") == "1";
  }));
  EXPECT_TRUE(m.try_acquire());
}

TEST(postgres_promotion, a_standby_alone_is_unavailable) {
  const postgres_server primary(durable);
  static_cast<void>(connect(primary.url()));
  const postgres_server standby(postgres_server::standby_of{primary}, durable);
  client c = connect(standby.url(), {.request_timeout = 1s});
  try {
    static_cast<void>(mutex(c, "m").try_acquire());
    FAIL() << "a standby cannot grant";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::unavailable));
    EXPECT_NE(std::string(why.what()).find("25006"), std::string::npos) << why.what();
  }
  bool told = false;
  for (const auto& one : c.examine())
    told = told || (one.how == finding::level::danger && one.text.find("standby") != std::string::npos);
  EXPECT_TRUE(told);
}

}  // namespace holdfast::testing
