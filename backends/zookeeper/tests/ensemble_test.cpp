#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/history.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <vector>

// Eight processes contend on three servers, of which one is harmed.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

struct harm {
  const char* label;
  bool leader;
  bool pause;
};

class zookeeper_ensemble_harm : public ::testing::TestWithParam<harm> {};

}  // namespace

TEST_P(zookeeper_ensemble_harm, lets_no_two_in_and_work_goes_on) {
  const zookeeper_ensemble servers;
  const temporary_directory directory;
  const std::string counter = (directory.path() / "counter").string();
  const std::string history = (directory.path() / "history").string();
  shared_counter progress(counter);
  std::vector<holder_process> all;
  for (int i = 0; i < 8; ++i) all.push_back(holder_process::connected(servers.url("/harm"), 4s));
  constexpr int share = 60;
  for (auto& one : all)
    one.tell("count mutex m " + std::to_string(share) + " counter=" + counter + " history=" + history);
  const auto gets_on = [&] {
    const auto before = progress.value();
    return eventually([&] { return progress.value() > before + 10 || progress.value() >= 8 * share; });
  };
  ASSERT_TRUE(gets_on());
  zookeeper_server& victim = GetParam().leader ? servers.leader() : servers.follower();
  GetParam().pause ? victim.pause() : victim.kill();
  EXPECT_TRUE(gets_on()) << "work does not go on";
  if (GetParam().pause) victim.resume();
  for (auto& one : all) EXPECT_EQ(one.reply(100s), "counted " + std::to_string(share));
  const auto seen = read_history(history);
  EXPECT_EQ(contradiction(seen).value_or(""), "");
  EXPECT_EQ(progress.value(), 8 * share) << "an update was lost";
  const client c = connect(servers.url("/harm"));
  EXPECT_TRUE(eventually([&] { return c.inspect("m").empty(); })) << "something is left";
}

INSTANTIATE_TEST_SUITE_P(each, zookeeper_ensemble_harm,
                         ::testing::Values(harm{"leader_killed", true, false}, harm{"leader_paused", true, true},
                                           harm{"follower_killed", false, false}),
                         [](const auto& test) { return std::string(test.param.label); });

}  // namespace holdfast::testing
