#include "contest.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/scale.hpp>

#include <fstream>

// `?layout=plain` beside redis-py and node-redlock.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

const std::string peers = HOLDFAST_PEERS;

std::vector<std::string> command_line(const std::string& language) {
  if (language == "python") return {peers + "/python/bin/python", HOLDFAST_PYTHON_PEER};
  return {"node", peers + "/node/peer.js"};
}

}  // namespace

class redis_plain : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr std::chrono::milliseconds brief_ttl{1500};

  void SetUp() override {
    std::ifstream skipped(peers + "/skipped");
    if (std::string reason; std::getline(skipped, reason)) GTEST_SKIP() << reason;
  }
  void TearDown() override {
    if (!IsSkipped()) contest_.expect_nothing_left({"holdfast_plain_token:", "holdfast_plain_turn:"});
  }

  std::string url() const { return contest_.server().url() + "?layout=plain"; }
  contender ours(std::chrono::milliseconds ttl = 30s) const {
    return {holder_process::connected(url(), ttl), {.acquire = "acquire mutex my", .release = "release"}};
  }
  /// A process of their own.
  contender theirs(const std::string& options = {}) const {
    auto words = command_line(GetParam());
    words.push_back(std::to_string(contest_.server().port()));
    return {
        std::make_shared<foreign_peer>(words), "main", {.acquire = "acquire my " + options, .release = "release my"}};
  }

  contest contest_{""};
};

TEST_P(redis_plain, a_release_on_either_side_lets_the_other_in) {
  contender them = theirs();
  contender us = ours();
  contest_.expect_woken(them, us);
  contest_.expect_woken(us, them);
}

TEST_P(redis_plain, when_they_are_killed_we_get_in_after_the_ttl) {
  contender them = theirs("ttl=1500");
  contender us = ours();
  contest_.expect_freed_by_ttl(them, us, {"PTTL", "my"});
}

TEST_P(redis_plain, when_we_are_killed_they_get_in_after_the_ttl) {
  contender us = ours(brief_ttl);
  contender them = theirs();
  contest_.expect_freed_by_ttl(us, them, {"PTTL", "my"});
}

TEST_P(redis_plain, a_waiter_that_is_killed_keeps_nobody_waiting) {
  {
    contender holder = ours();
    contender victim = theirs();
    contender next = ours();
    contest_.expect_passed_over(holder, victim, next);
  }
  contender holder = theirs();
  contender victim = ours();
  contender next = theirs();
  contest_.expect_passed_over(holder, victim, next);
}

TEST_P(redis_plain, what_we_renew_stays_ours_and_what_they_extend_stays_theirs) {
  contender us = ours(brief_ttl);
  contender them = theirs();
  us.acquire();
  // Beyond our ttl: it is renewed meanwhile.
  EXPECT_EQ(them.ask("acquire my wait=2500"), "busy");
  EXPECT_EQ(us.ask("valid"), "yes");
  us.release();
  EXPECT_EQ(them.ask("acquire my ttl=1000"), "granted");
  EXPECT_EQ(them.ask("extend my ttl=3000"), "ok");
  EXPECT_EQ(us.ask("try mutex my wait=1500"), "busy");
  EXPECT_EQ(them.ask("release my"), "ok");
  us.acquire();
  us.release();
}

TEST_P(redis_plain, neither_side_releases_what_the_other_holds) {
  contest_.somebody_was_forced_out();
  contender us = ours(3s);
  contender them = theirs();
  EXPECT_EQ(them.ask("acquire my ttl=100"), "granted");
  us.acquire();
  EXPECT_NE(them.ask("release my"), "ok");
  EXPECT_EQ(us.ask("valid"), "yes");
  EXPECT_EQ(them.ask("locked my"), "yes");
  contest_.server().command({"DEL", "my"});
  them.acquire();
  EXPECT_NE(us.ask("release"), "ok");
  EXPECT_EQ(them.ask("locked my"), "yes");
  them.release();
}

TEST_P(redis_plain, evicting_one_of_theirs_lets_the_next_in) {
  contender them = theirs();
  contender us = ours();
  them.acquire();
  contest_.let_wait(us);
  EXPECT_TRUE(connect(url()).evict("my"));
  us.got();
  EXPECT_NE(them.ask("release my"), "ok");
  EXPECT_EQ(us.ask("valid"), "yes");
  us.release();
}

TEST_P(redis_plain, four_of_each_side_lose_no_increment) {
  std::vector<contender> all;
  std::vector<std::string> commands;
  for (int i = 0; i < 4; ++i) {
    all.push_back(theirs());
    commands.emplace_back("count my");
    all.push_back(ours());
    commands.emplace_back("count mutex my");
  }
  contest_.expect_exact_count(all, commands, scaled(500));
}

INSTANTIATE_TEST_SUITE_P(every, redis_plain, ::testing::Values("python", "node"),
                         [](const auto& test) { return test.param; });

}  // namespace holdfast::testing
