#include "cli_fixture.hpp"

#include <csignal>
#include <fstream>

namespace holdfast::cli::testing {
namespace {

/// A command with a child, and a grandchild that has left process group and session and lost its parent.
class run_killed : public cli_test {
 protected:
  child start_family(const std::vector<std::string>& options = {}) {
    std::ofstream(path("family")) << R"(
      sleep 1000 & echo $! >$DIR/child
      setsid sh -c 'echo $$ >$DIR/grandchild; exec sleep 1000' &
      echo $$ >$DIR/command
      until [ -s $DIR/grandchild ]; do :; done
      echo ready
      wait)";
    return start_script("n", options, ". $DIR/family");
  }

  pid_t pid_in(const std::string& file) const { return std::stoi(read_file(file)); }

  std::vector<pid_t> family() const { return {pid_in("command"), pid_in("child"), pid_in("grandchild")}; }

  void expect_family_gone() const {
    for (const pid_t pid : family()) EXPECT_TRUE(wait_until_gone(pid)) << pid;
  }

  /// Takes the lock as soon as it is free and says who of the family is still there at that moment.
  child start_successor() {
    child successor =
        start({"run", "n", "--", "sh", "-c",
               "for f in command child grandchild; do readlink /proc/$(cat $DIR/$f)/exe; done; echo done"});
    EXPECT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
    return successor;
  }
};

TEST_F(run_killed, nothing_of_the_command_outlives_the_lock_when_holdfast_is_killed) {
  child holder = start_family();
  child successor = start_successor();
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait(), -SIGKILL);
  EXPECT_EQ(finish(std::move(successor)).out, "done\n") << "the lock was free before the command was gone";
  expect_family_gone();
}

TEST_F(run_killed, nothing_outlives_the_lock_when_the_whole_process_group_is_killed) {
  child holder = start_family();
  child successor = start_successor();
  holder.signal_group(SIGKILL);
  EXPECT_EQ(finish(std::move(successor)).out, "done\n");
  expect_family_gone();
}

TEST_F(run_killed, a_killed_keeper_takes_the_command_with_it) {
  child holder = start_family();
  ::kill(keeper_of("n"), SIGKILL);
  EXPECT_EQ(holder.wait(), 76);
  for (const pid_t pid : family()) EXPECT_FALSE(is_alive(pid)) << pid;
  const std::string text = holder.err();
  EXPECT_NE(text.find("'n'"), std::string::npos) << text;
  EXPECT_TRUE(eventually([&] { return is_free("n"); }));
}

TEST_F(run_killed, the_command_dies_even_when_both_are_killed_at_once) {
  child holder = start_family();
  const pid_t keeper = keeper_of("n");
  ::kill(keeper, SIGKILL);
  holder.signal(SIGKILL);
  EXPECT_TRUE(wait_until_gone(pid_in("command")));
  // Nobody is left to end these; the manual says so.
  ::kill(pid_in("child"), SIGKILL);
  ::kill(pid_in("grandchild"), SIGKILL);
}

TEST_F(run_killed, a_keeper_killed_while_waiting_ends_the_wait) {
  child holder = start_script("n", {}, "echo ready; read x");
  child waiter = start({"run", "n", "--", "true"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  ::kill(show("n")["waiters"].at(0)["pid"].get<pid_t>(), SIGKILL);
  EXPECT_EQ(waiter.wait(), 70);
  EXPECT_TRUE(eventually([&] { return show("n")["waiters"].empty(); }));
}

TEST_F(run_killed, a_waiter_that_is_killed_leaves_nothing) {
  child holder = start_script("n", {}, "echo ready; read x");
  child waiter = start({"run", "n", "--", "true"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  waiter.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return show("n")["waiters"].empty(); }));
}

TEST_F(run_killed, what_the_command_leaves_behind_ends_before_the_lock_is_released) {
  std::ofstream(path("family")) << R"(
      setsid sh -c 'trap "echo told >$DIR/told; exit" TERM; echo $$ >$DIR/grandchild; sleep 1000 & wait' &
      until [ -s $DIR/grandchild ]; do :; done
      echo ready
      read x
      exit 5)";
  child holder = start_script("n", {"--grace", "10s"}, ". $DIR/family");
  child successor = start({"run", "n", "--", "sh", "-c", "readlink /proc/$(cat $DIR/grandchild)/exe; echo done"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  holder.write_line("go");
  EXPECT_EQ(holder.wait(), 5);
  EXPECT_EQ(finish(std::move(successor)).out, "done\n");
  EXPECT_EQ(read_file("told"), "told\n");
}

TEST_F(run_killed, what_ignores_sigterm_is_killed_after_the_grace) {
  child holder = start_script("n", {"--grace", "20ms"},
                              "(trap '' TERM; echo ready; exec sleep 1000) & echo $! >$DIR/child; read x; exit 5");
  holder.write_line("go");
  EXPECT_EQ(holder.wait(), 5);
  EXPECT_FALSE(is_alive(pid_in("child")));
}

TEST_F(run_killed, children_the_process_had_before_are_not_touched) {
  child holder = start_program({"sh", "-c",
                                "sleep 1000 & echo $! >$DIR/before; exec \"$HOLDFAST\" run n -- sh -c 'echo ready; "
                                "sleep 1000 & echo $! >$DIR/child; wait'"});
  ASSERT_EQ(holder.read_line(), "ready");
  ASSERT_TRUE(eventually([&] { return read_file("child").ends_with("\n"); }));
  ::kill(keeper_of("n"), SIGKILL);
  EXPECT_EQ(holder.wait(), 76);
  EXPECT_FALSE(is_alive(pid_in("child")));
  EXPECT_TRUE(is_alive(pid_in("before")));
  ::kill(pid_in("before"), SIGKILL);
}

}  // namespace
}  // namespace holdfast::cli::testing
