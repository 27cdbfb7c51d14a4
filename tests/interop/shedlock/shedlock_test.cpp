#include "contender.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/mariadb_server.hpp>
#include <holdfast/testing/postgres_server.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// ShedLock and ours on one table.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr const char* postgresql_table =
    "CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL, locked_at TIMESTAMP NOT NULL, "
    "locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))";
constexpr const char* mysql_table =
    "CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL, locked_at TIMESTAMP(3) NOT "
    "NULL "
    "DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))";

/// Where the table is, and who made it.
enum class place { postgresql, postgresql_of_theirs, mariadb, mariadb_of_theirs_elsewhere };

std::string place_name(const ::testing::TestParamInfo<place>& info) {
  constexpr const char* names[] = {"postgresql", "postgresql_of_theirs", "mariadb", "mariadb_of_theirs_elsewhere"};
  return names[static_cast<int>(info.param)];
}

}  // namespace

class shedlock : public ::testing::TestWithParam<place> {
 protected:
  void SetUp() override {
    std::ifstream skipped(HOLDFAST_PEERS "/skipped");
    if (std::string reason; std::getline(skipped, reason)) GTEST_SKIP() << reason;
    if (GetParam() == place::postgresql || GetParam() == place::postgresql_of_theirs) {
      postgres_.emplace();
      if (GetParam() == place::postgresql_of_theirs) postgres_->query(postgresql_table);
      return;
    }
    // Its columns are converted from the zone of the session, which is the server's: not UTC.
    const bool elsewhere = GetParam() == place::mariadb_of_theirs_elsewhere;
    mariadb_.emplace(elsewhere ? std::vector<std::string>{"--default-time-zone=+05:30"} : std::vector<std::string>{});
    if (elsewhere) mariadb_->query("USE holdfast; " + std::string(mysql_table));
  }

  std::string url(const std::string& more = "") const {
    const std::string options = "?layout=shedlock" + more;
    return postgres_ ? postgres_->url(options) : mariadb_->url(options);
  }
  std::string query(const std::string& text) const {
    return postgres_ ? postgres_->query(text) : mariadb_->query("USE holdfast; " + text);
  }

  std::shared_ptr<foreign_peer> java() {
    if (java_) return java_;
    // Whoever comes first makes the table, and ShedLock never does.
    static_cast<void>(connect(url()));
    const std::string folder = HOLDFAST_PEERS "/" HOLDFAST_SHEDLOCK;
    const std::string jdbc =
        postgres_ ? "jdbc:postgresql://127.0.0.1:" + std::to_string(postgres_->port()) + "/postgres?user=postgres"
                  : "jdbc:mariadb://127.0.0.1:" + std::to_string(mariadb_->port()) + "/holdfast?user=root";
    // Quick to start rather than quick in the long run.
    java_ = std::make_shared<foreign_peer>(
        std::vector<std::string>{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-cp",
                                 folder + "/classes:" + folder + "/jars/*", "Peer", jdbc});
    return java_;
  }
  contender theirs(const std::string& options = " most=60000 wait=60000", const std::string& thread = "main") {
    return {java(), thread, {.acquire = "acquire job" + options, .release = "release job"}};
  }
  contender ours(std::chrono::milliseconds ttl = 20s, const std::string& more = "") const {
    return {holder_process::connected(url(more), ttl), {.acquire = "acquire mutex job", .release = "release"}};
  }
  bool waiting(std::size_t n) const {
    const client c = connect(url());
    return eventually([&] {
      const auto seen = c.inspect("job");
      return !seen.empty() && seen[0].waiters.size() == n;
    });
  }

  std::optional<postgres_server> postgres_;
  std::optional<mariadb_server> mariadb_;
  std::shared_ptr<foreign_peer> java_;
};

TEST_P(shedlock, each_keeps_the_other_out_until_it_releases) {
  contender them = theirs();
  contender us = ours();
  for (int round = 0; round < 2; ++round) {
    them.acquire();
    EXPECT_EQ(us.ask("try mutex job"), "busy");
    us.want();
    ASSERT_TRUE(waiting(1));
    EXPECT_FALSE(us.reply_within(short_wait)) << "both are in";
    them.release();
    us.got();
    EXPECT_EQ(them.ask("acquire job most=60000"), "busy");
    us.release();
    EXPECT_EQ(them.ask("acquire job most=60000"), "granted") << "it is free at once";
    them.release();
  }
}

TEST_P(shedlock, a_killed_service_of_theirs_frees_it_when_its_time_ends_and_not_before) {
  contender them = theirs(" most=3000");
  contender us = ours();
  them.acquire();
  us.want();
  ASSERT_TRUE(waiting(1));
  them.kill();
  EXPECT_FALSE(us.reply_within(500ms));
  us.got();
  us.release();
}

TEST_P(shedlock, a_killed_process_of_ours_frees_it_when_its_ttl_ends_and_not_before) {
  contender them = theirs();
  contender us = ours(3s);
  us.acquire();
  us.kill();
  EXPECT_EQ(them.ask("acquire job most=60000"), "busy");
  them.acquire();
  them.release();
}

TEST_P(shedlock, no_increment_is_lost) {
  const temporary_directory directory;
  const std::string file = (directory.path() / "counter").string();
  const shared_counter counter(file);
  const std::string share = std::to_string(scaled(100));
  std::vector<contender> all;
  for (int i = 0; i < 2; ++i) {
    all.push_back(theirs("", "thread" + std::to_string(i)));
    all.back().tell("count job " + share + " most=60000 wait=100000 counter=" + file);
  }
  for (int i = 0; i < 3; ++i) {
    all.push_back(ours());
    all.back().tell("count mutex job " + share + " counter=" + file);
  }
  for (auto& one : all) EXPECT_EQ(one.reply(100s), "counted " + share);
  EXPECT_EQ(counter.value(), 5 * scaled(100));
}

TEST_P(shedlock, what_is_kept_for_at_least_a_while_is_kept_from_both) {
  contender them = theirs(" most=60000 least=1500 wait=60000");
  contender us = ours(20s, "&at-least=1500ms");
  them.acquire();
  them.release();
  EXPECT_EQ(us.ask("try mutex job"), "busy") << "they keep it a while";
  us.acquire();
  us.release();
  EXPECT_EQ(them.ask("acquire job most=60000"), "busy") << "we keep it a while";
  EXPECT_EQ(ours().ask("try mutex job"), "busy");
  them.acquire();
  them.release();
}

TEST_P(shedlock, a_lock_that_is_renewed_or_extended_is_kept) {
  contender them = theirs(" most=1000 wait=60000");
  contender us = ours(1s);
  us.acquire();
  EXPECT_EQ(them.ask("acquire job most=60000 wait=2500"), "busy") << "ours is renewed";
  us.release();
  them.acquire();
  EXPECT_EQ(them.ask("extend job most=60000"), "granted");
  const auto seen = connect(url()).inspect("job");
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_EQ(seen[0].holders.size(), 1u);
  EXPECT_GT(seen[0].holders[0].remaining, 30s);
  EXPECT_LE(seen[0].holders[0].remaining, 60s);
  them.release();
}

TEST_P(shedlock, each_side_reads_what_the_other_writes) {
  contender them = theirs();
  them.acquire();
  client c = connect(url());
  auto seen = c.inspect("job");
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_EQ(seen[0].holders.size(), 1u);
  EXPECT_EQ(seen[0].holders[0].owner, query("SELECT locked_by FROM shedlock"));
  const auto age = std::chrono::system_clock::now() - seen[0].holders[0].since;
  EXPECT_LT(std::chrono::abs(age), live_timeout) << "times are of UTC";
  EXPECT_TRUE(c.evict("job"));
  mutex m(c, "job");
  lease held = m.acquire();
  them.release();
  EXPECT_TRUE(succeeded(held.renew())) << "what they release is not ours";
  EXPECT_EQ(theirs("", "other").ask("acquire job most=60000"), "busy");
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(c.inspect("job").empty());
  EXPECT_EQ(query("SELECT count(*) FROM shedlock"), "1") << "its row stays";
}

INSTANTIATE_TEST_SUITE_P(table, shedlock,
                         ::testing::Values(place::postgresql, place::postgresql_of_theirs, place::mariadb,
                                           place::mariadb_of_theirs_elsewhere),
                         place_name);

}  // namespace holdfast::testing
