#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/pgbouncer.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

// PgBouncer between us and the server.

namespace holdfast::testing {

class postgres_pooler : public ::testing::TestWithParam<const char*> {};

TEST_P(postgres_pooler, one_that_shares_out_sessions_is_refused_with_the_reason) {
  const postgres_server server;
  const pgbouncer between(server, GetParam());
  try {
    static_cast<void>(connect(between.url()));
    FAIL() << "who waits would never be told";
  } catch (const error& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::rejected)) << why.what();
    EXPECT_NE(std::string(why.what()).find("pool_mode=session"), std::string::npos) << why.what();
  }
  EXPECT_EQ(server.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'holdfast'"), "0") << "nothing was made";
  // Its sessions are others' too.
  EXPECT_EQ(std::system(("psql -X -A -t -c 'SHOW search_path' '" + between.url() + "' | grep -q public").c_str()), 0)
      << "and nothing was set for who comes next";
}

INSTANTIATE_TEST_SUITE_P(mode, postgres_pooler, ::testing::Values("transaction", "statement"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(postgres_pooled_sessions, one_that_gives_each_client_a_session_is_as_good_as_the_server) {
  const postgres_server server;
  const pgbouncer between(server, "session");
  client ours = connect(between.url());
  mutex m(ours, "m");
  lease held = m.acquire();
  client theirs = connect(between.url());
  mutex other(theirs, "m");
  auto next = other.async_acquire({.wait = live_timeout});
  ASSERT_TRUE(eventually([&] { return ours.inspect("m").front().waiters.size() == 1; }));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_GT(next.get().token(), held.token());
  bool told = false;
  for (const auto& one : ours.examine())
    told = told || (one.how == finding::level::fact && one.text.find("pool_mode=session") != std::string::npos);
  EXPECT_TRUE(told);
}

}  // namespace holdfast::testing
