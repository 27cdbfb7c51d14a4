#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/history.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

// Eight processes contend on three servers, of which one is harmed.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

enum class member { leader, follower };
enum class damage { killed, paused, isolated };

struct harm {
  const char* label;
  member whom;
  damage what;
};

class zookeeper_ensemble_harm : public ::testing::TestWithParam<harm> {
 protected:
  static constexpr int processes = 8;
  static constexpr int share = 25;

  void do_harm(zookeeper_server& victim) {
    if (GetParam().what == damage::killed) return victim.kill();
    if (GetParam().what == damage::paused) return victim.pause();
    servers_.isolate(victim);
  }
  void undo_harm(zookeeper_server& victim) {
    if (GetParam().what == damage::killed) return victim.start_only();
    if (GetParam().what == damage::paused) return victim.resume();
    servers_.reunite();
  }
  /// An election takes its time on a busy machine.
  bool gets_on() const {
    const auto enough = std::min<long>(progress_.value() + 10, processes * share);
    return eventually([&] { return progress_.value() >= enough; }, 3 * live_timeout);
  }

  zookeeper_ensemble servers_;
  const temporary_directory directory_;
  const std::string counter_ = (directory_.path() / "counter").string();
  const std::string history_ = (directory_.path() / "history").string();
  const shared_counter progress_{counter_};
};

}  // namespace

TEST_P(zookeeper_ensemble_harm, lets_no_two_in_and_work_goes_on) {
  std::vector<holder_process> all;
  for (int i = 0; i < processes; ++i) {
    all.emplace_back();
    // A call waits for the election, however long that takes on a busy machine.
    ASSERT_EQ(all.back().ask("connect " + servers_.url("/harm") + " ttl=12000 request=60000"), "ok");
  }
  for (auto& one : all)
    one.tell("count mutex m " + std::to_string(share) + " counter=" + counter_ + " history=" + history_ + " late=yes");
  ASSERT_TRUE(gets_on());
  zookeeper_server& victim = GetParam().whom == member::leader ? servers_.leader() : servers_.follower();
  do_harm(victim);
  EXPECT_TRUE(gets_on()) << "work does not go on";
  undo_harm(victim);
  for (auto& one : all) EXPECT_EQ(one.reply(100s), "counted " + std::to_string(share));
  EXPECT_EQ(contradiction(read_history(history_)).value_or(""), "");
  EXPECT_EQ(progress_.value(), processes * share) << "an update was lost";
  const client c = connect(servers_.url("/harm"));
  EXPECT_TRUE(eventually([&] { return c.inspect("m").empty(); })) << "something is left";
}

TEST(zookeeper_ensemble, the_doctor_names_a_member_that_is_down) {
  zookeeper_ensemble servers;
  const client c = connect(servers.url("/doctor"));
  const auto says = [&](const std::string& what) {
    const auto all = c.examine();
    return std::any_of(all.begin(), all.end(), [&](const finding& f) { return f.text.find(what) != f.text.npos; });
  };
  EXPECT_TRUE(says("3 members: 1 may be lost"));
  EXPECT_TRUE(says(servers.leader().address() + " is leader"));
  EXPECT_FALSE(says("the loss of one more"));
  zookeeper_server& victim = servers.follower();
  victim.kill();
  EXPECT_TRUE(says(victim.address() + " does not answer"));
  EXPECT_TRUE(says("the loss of one more"));
}

INSTANTIATE_TEST_SUITE_P(each, zookeeper_ensemble_harm,
                         ::testing::Values(harm{"leader_killed", member::leader, damage::killed},
                                           harm{"leader_paused", member::leader, damage::paused},
                                           harm{"leader_isolated", member::leader, damage::isolated},
                                           harm{"follower_killed", member::follower, damage::killed},
                                           harm{"follower_paused", member::follower, damage::paused},
                                           harm{"follower_isolated", member::follower, damage::isolated}),
                         [](const auto& test) { return std::string(test.param.label); });

}  // namespace holdfast::testing
