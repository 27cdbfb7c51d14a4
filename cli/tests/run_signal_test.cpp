#include "cli_fixture.hpp"

#include <unistd.h>

#include <csignal>
#include <sstream>

namespace holdfast::cli::testing {
namespace {

struct named_signal {
  int number;
  std::string name;
};

class signal_to_holdfast : public cli_test, public ::testing::WithParamInterface<named_signal> {};

TEST_P(signal_to_holdfast, is_passed_on_to_the_command) {
  // dash runs a trap only between commands, and at once in `wait`.
  child command = start_script("n", {"--grace", "2s"},
                               "trap 'echo got; exit 7' " + GetParam().name + "; sleep 1000 & echo ready; wait");
  command.signal(GetParam().number);
  EXPECT_EQ(command.read_line(), "got");
  EXPECT_EQ(command.wait(), 7);
  EXPECT_TRUE(is_free("n"));
}

TEST_P(signal_to_holdfast, ends_a_command_that_does_not_catch_it) {
  child command = start_script("n", {}, "echo ready; exec sleep 1000");
  // The shell may still be about to become sleep; both die of it.
  command.signal(GetParam().number);
  EXPECT_EQ(command.wait(), 128 + GetParam().number);
}

TEST_P(signal_to_holdfast, ends_the_wait_and_leaves_nothing) {
  child holder = start_script("n", {}, "echo ready; read x");
  child waiter = start({"run", "n", "--", "touch", path("ran")});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  waiter.signal(GetParam().number);
  EXPECT_EQ(waiter.wait(), 128 + GetParam().number);
  EXPECT_TRUE(show("n")["waiters"].empty());
  EXPECT_EQ(waiter.err(), "");
  EXPECT_EQ(finish(std::move(holder)).code, 1);
  EXPECT_EQ(read_file("ran"), "");
}

TEST_P(signal_to_holdfast, stays_ignored_where_it_was) {
  // As nohup and background jobs of sh have it.
  child command = start_program(
      {"sh", "-c", "trap '' " + GetParam().name + "; exec \"$HOLDFAST\" run n -- sh -c 'echo ready; read x; echo $x'"});
  ASSERT_EQ(command.read_line(), "ready");
  command.signal(GetParam().number);
  command.write_line("unharmed");
  EXPECT_EQ(command.read_line(), "unharmed");
  EXPECT_EQ(finish(std::move(command)).code, 0);
}

INSTANTIATE_TEST_SUITE_P(passed_on, signal_to_holdfast,
                         ::testing::Values(named_signal{SIGINT, "INT"}, named_signal{SIGTERM, "TERM"},
                                           named_signal{SIGHUP, "HUP"}, named_signal{SIGQUIT, "QUIT"},
                                           named_signal{SIGUSR1, "USR1"}, named_signal{SIGUSR2, "USR2"}),
                         [](const auto& one) { return one.param.name; });

using run_command = cli_test;

/// The hexadecimal masks in `text`, without signals 32 and 33: those belong to the C library, which takes them over in
/// every process that has threads.
std::vector<unsigned long long> masks(const std::string& text) {
  std::vector<unsigned long long> found;
  std::istringstream lines(text);
  for (std::string name, mask; lines >> name >> mask;) found.push_back(std::stoull(mask, nullptr, 16) & ~(3ULL << 31));
  EXPECT_EQ(found.size(), 2U) << text;
  return found;
}

TEST_F(run_command, a_signal_to_the_keeper_is_for_the_command_too) {
  child command = start_script("n", {}, "trap 'exit 9' TERM; sleep 1000 & echo ready; wait");
  ::kill(keeper_of("n"), SIGTERM);
  EXPECT_EQ(command.wait(), 9);
}

TEST_F(run_command, the_command_has_the_signals_it_would_have_without_us) {
  for (const std::string setting : {"true", "trap '' HUP PIPE CHLD", "trap '' TSTP INT"}) {
    const std::string ask = "grep '^Sig[BIC][lg][kn]' /proc/self/status";
    child plain = start_program({"sh", "-c", setting + "; exec " + ask});
    child under = start_program({"sh", "-c", setting + "; exec \"$HOLDFAST\" run n -- " + ask});
    const outcome expected = finish(std::move(plain));
    EXPECT_EQ(masks(finish(std::move(under)).out), masks(expected.out)) << setting << expected.out;
  }
}

TEST_F(run_command, works_where_children_are_ignored) {
  child command = start_program({"sh", "-c", "trap '' CHLD; exec \"$HOLDFAST\" run n -- sh -c 'exit 3'"});
  EXPECT_EQ(finish(std::move(command)).code, 3);
}

TEST_F(run_command, no_descriptor_of_ours_reaches_the_command_and_all_of_the_callers_do) {
  const std::string list = "sh -c 'ls /proc/$$/fd'";
  child plain = start_program({"sh", "-c", "exec 7</dev/null; exec " + list});
  child under = start_program({"sh", "-c", "exec 7</dev/null; exec \"$HOLDFAST\" run n -- " + list});
  const outcome expected = finish(std::move(plain));
  EXPECT_NE(expected.out.find("7"), std::string::npos);
  EXPECT_EQ(finish(std::move(under)).out, expected.out);
}

TEST_F(run_command, the_command_stays_in_the_callers_process_group_and_session) {
  child command = start({"run", "n", "--", "sh", "-c", "cut -d' ' -f5,6 /proc/self/stat"});
  const std::string expected = std::to_string(command.pid()) + " " + std::to_string(::getsid(0));
  EXPECT_EQ(command.read_line(), expected);
  EXPECT_EQ(finish(std::move(command)).code, 0);
}

TEST_F(run_command, a_signal_to_the_whole_group_ends_all_and_frees_the_lock) {
  child command = start_script("n", {}, "sleep 1000 & echo ready; wait");
  command.signal_group(SIGTERM);
  EXPECT_EQ(command.wait(), 128 + SIGTERM);
  EXPECT_TRUE(is_free("n"));
}

}  // namespace
}  // namespace holdfast::cli::testing
