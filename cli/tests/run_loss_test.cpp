#include "cli_fixture.hpp"

#include <csignal>

namespace holdfast::cli::testing {
namespace {

using run_lost = cli_test;

TEST_F(run_lost, an_evicted_command_is_told_and_the_code_is_76) {
  child holder = start_script("n", {}, "trap 'echo told; exit 0' TERM; sleep 1000 & echo ready; wait");
  ASSERT_EQ(run({"evict", "n", "--yes"}).code, 0);
  EXPECT_EQ(holder.read_line(), "told");
  EXPECT_EQ(holder.wait(), 76);
  const std::string text = holder.err();
  EXPECT_NE(text.find("lost 'n'"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
}

TEST_F(run_lost, a_stubborn_command_is_killed_after_the_grace) {
  child holder =
      start_script("n", {"--grace", "20ms"}, "trap '' TERM; echo $$ >$DIR/command; echo ready; exec sleep 1000");
  ASSERT_EQ(run({"evict", "n", "--yes"}).code, 0);
  EXPECT_EQ(holder.wait(), 76);
  EXPECT_FALSE(is_alive(std::stoi(read_file("command"))));
}

TEST_F(run_lost, a_stopped_command_is_woken_to_be_told) {
  child holder =
      start_script("n", {}, "trap 'echo told; exit 0' TERM; sleep 1000 & echo $$ >$DIR/command; echo ready; wait");
  const pid_t command = std::stoi(read_file("command"));
  ::kill(command, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(command) == 'T'; }));
  ASSERT_EQ(run({"evict", "n", "--yes"}).code, 0);
  EXPECT_EQ(holder.read_line(), "told");
  EXPECT_EQ(holder.wait(), 76);
}

TEST_F(run_lost, a_keeper_stopped_beyond_the_ttl_ends_the_command) {
  child holder = start_script("n", {"--ttl", "2s", "--grace", "5s"},
                              "trap 'echo told; exit 0' TERM; sleep 1000 & echo $! >$DIR/child; echo ready; wait");
  const pid_t keeper = keeper_of("n");
  ::kill(keeper, SIGSTOP);
  EXPECT_EQ(holder.read_line(), "told");
  EXPECT_EQ(holder.wait(), 76);
  EXPECT_FALSE(is_alive(keeper));
  EXPECT_FALSE(is_alive(std::stoi(read_file("child"))));
  EXPECT_NE(holder.err().find("'n'"), std::string::npos);
}

TEST_F(run_lost, a_keeper_stopped_for_less_than_the_ttl_goes_on) {
  child holder = start_script("n", {}, "echo ready; read x");
  const pid_t keeper = keeper_of("n");
  ::kill(keeper, SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(keeper) == 'T'; }));
  ::kill(keeper, SIGCONT);
  holder.write_line("go");
  EXPECT_EQ(finish(std::move(holder)).code, 0);
}

TEST_F(run_lost, nobody_else_is_disturbed_by_an_eviction) {
  child first = start_script("n", {}, "echo ready; exec sleep 1000");
  child second = start({"run", "n", "--", "sh", "-c", "echo in; read x"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  ASSERT_EQ(run({"evict", "n", "--yes"}).code, 0);
  EXPECT_EQ(second.read_line(), "in");
  EXPECT_EQ(first.wait(), 76);
  second.write_line("go");
  EXPECT_EQ(finish(std::move(second)).code, 0);
}

}  // namespace
}  // namespace holdfast::cli::testing
