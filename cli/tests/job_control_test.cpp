#include "cli_fixture.hpp"
#include "terminal.hpp"

#include <csignal>
#include <fstream>

namespace holdfast::cli::testing {
namespace {

class job_control : public cli_test {
 protected:
  job_control() : shell_(how_.environment) {}

  /// Types `holdfast run n OPTIONS -- sh SCRIPT` and waits for its "is ready".
  void type_run(const std::string& options, const std::string& script) {
    ASSERT_TRUE(shell_.sees("prompt>"));
    std::ofstream(path("script")) << "echo $$ >$DIR/command; " << script;
    shell_.type("\"$HOLDFAST\" run n " + options + " -- sh $DIR/script\n");
  }
  pid_t command() const { return std::stoi(read_file("command")); }

  terminal shell_;
};

TEST_F(job_control, ctrl_c_reaches_the_command_once) {
  // The trap ends the sleep too: run just before `wait`, it would not end that.
  type_run("", "trap 'echo interrupted; kill $!' INT; sleep 1000 & echo is ready; wait; read x; exit 5");
  ASSERT_TRUE(shell_.sees("is ready")) << shell_.screen();
  shell_.press_ctrl('c');
  ASSERT_TRUE(shell_.sees("interrupted")) << shell_.screen();
  shell_.type("\n");
  shell_.type("echo code is $?\n");
  ASSERT_TRUE(shell_.sees("code is 5")) << shell_.screen();
  const auto first = shell_.screen().find("interrupted");
  EXPECT_EQ(shell_.screen().find("interrupted", first + 1), std::string::npos) << shell_.screen();
}

TEST_F(job_control, ctrl_c_ends_a_command_that_does_not_catch_it) {
  type_run("", "echo is ready; read x");
  ASSERT_TRUE(shell_.sees("is ready")) << shell_.screen();
  shell_.press_ctrl('c');
  // Not before the prompt: whoever dies of Ctrl-C may still take what is typed.
  ASSERT_TRUE(shell_.sees("prompt>")) << shell_.screen();
  shell_.type("echo code is $?\n");
  ASSERT_TRUE(shell_.sees("code is 130")) << shell_.screen();
  EXPECT_TRUE(is_free("n"));
}

TEST_F(job_control, ctrl_c_while_the_command_is_started_is_neither_lost_nor_doubled) {
  // Ends a while after the first one, so that a second one would be seen; or after some seconds without any.
  std::ofstream(path("script")) << "trap 'echo interrupted; told=yes' INT; told=; i=0; "
                                   "while [ -z $told ] && [ $i -lt 3000000 ]; do i=$((i + 1)); done; i=0; "
                                   "while [ $i -lt 20000 ]; do i=$((i + 1)); done; exit 6";
  int completed = 0;
  // Start-up takes some milliseconds; each round presses the key a little later than the one before.
  for (std::chrono::microseconds delay{0}; delay < std::chrono::milliseconds(15);
       delay += std::chrono::microseconds(150)) {
    terminal job(how_.environment, {HOLDFAST_BINARY, "run", "n", "--", "sh", path("script")});
    const auto when = std::chrono::steady_clock::now() + delay;
    while (std::chrono::steady_clock::now() < when) {
    }
    job.press_ctrl('c');
    const int code = job.wait();
    // Before it listens, while it waits, and before the trap is set, it dies of it.
    if (code == -SIGINT || code == 128 + SIGINT) continue;
    ++completed;
    EXPECT_EQ(code, 6) << job.screen();
    const auto first = job.screen().find("interrupted");
    ASSERT_NE(first, std::string::npos) << "lost after " << delay.count() << " us: " << job.screen();
    EXPECT_EQ(job.screen().find("interrupted", first + 1), std::string::npos) << job.screen();
  }
  RecordProperty("completed", completed);
  EXPECT_TRUE(is_free("n"));
}

TEST_F(job_control, ctrl_c_ends_the_wait) {
  child holder = start_script("n", {}, "echo ready; read x");
  type_run("", "echo was run");
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  shell_.press_ctrl('c');
  // Not before the prompt: whoever dies of Ctrl-C may still take what is typed.
  ASSERT_TRUE(shell_.sees("prompt>")) << shell_.screen();
  shell_.type("echo code is $?\n");
  ASSERT_TRUE(shell_.sees("code is 130")) << shell_.screen();
  EXPECT_TRUE(show("n")["waiters"].empty());
}

TEST_F(job_control, ctrl_z_stops_the_job_while_the_lock_is_renewed) {
  type_run("--ttl 1s", "echo is ready; read x; echo got-$x; exit 6");
  ASSERT_TRUE(shell_.sees("is ready")) << shell_.screen();
  const pid_t keeper = keeper_of("n");
  shell_.press_ctrl('z');
  ASSERT_TRUE(shell_.sees("Stopped")) << shell_.screen();
  EXPECT_TRUE(eventually([&] { return state_of(command()) == 'T'; }));
  EXPECT_NE(state_of(keeper), 'T');
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2500)) {
    ASSERT_EQ(show("n")["holders"].size(), 1U) << "more than two ttls long";
  }
  // Twice, with the second stop right behind the first resumption.
  shell_.type("fg\n");
  ASSERT_TRUE(shell_.sees("sh $DIR/script")) << shell_.screen();
  ASSERT_TRUE(eventually([&] { return state_of(command()) != 'T'; }));
  shell_.press_ctrl('z');
  ASSERT_TRUE(shell_.sees("Stopped")) << shell_.screen();
  ASSERT_TRUE(eventually([&] { return state_of(command()) == 'T'; }));
  shell_.type("fg\n");
  ASSERT_TRUE(shell_.sees("sh $DIR/script")) << shell_.screen();
  ASSERT_TRUE(eventually([&] { return state_of(command()) != 'T'; }));
  shell_.type("line\n");
  ASSERT_TRUE(shell_.sees("got-line")) << shell_.screen();
  shell_.type("echo code is $?\n");
  ASSERT_TRUE(shell_.sees("code is 6")) << shell_.screen();
  EXPECT_TRUE(is_free("n"));
}

TEST_F(job_control, the_job_stops_when_the_command_stops_itself) {
  type_run("", "kill -STOP $$; echo went on; exit 6");
  ASSERT_TRUE(shell_.sees("Stopped")) << shell_.screen();
  EXPECT_EQ(state_of(command()), 'T');
  shell_.type("fg\n");
  ASSERT_TRUE(shell_.sees("went on")) << shell_.screen();
  shell_.type("echo code is $?\n");
  ASSERT_TRUE(shell_.sees("code is 6")) << shell_.screen();
}

TEST_F(job_control, the_job_goes_on_when_the_command_is_continued_by_somebody_else) {
  type_run("", "kill -STOP $$; echo went on; exit 6");
  ASSERT_TRUE(shell_.sees("Stopped")) << shell_.screen();
  ::kill(command(), SIGCONT);
  EXPECT_TRUE(shell_.sees("went on")) << shell_.screen();
  EXPECT_TRUE(eventually([&] { return is_free("n"); }));
  shell_.type("wait %1; echo code is $?\n");
  ASSERT_TRUE(shell_.sees("code is 6")) << shell_.screen();
}

TEST_F(job_control, a_job_stopped_while_waiting_starts_its_command_when_it_goes_on) {
  child holder = start_script("n", {}, "echo ready; read x");
  type_run("", "echo was''run");
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  shell_.press_ctrl('z');
  ASSERT_TRUE(shell_.sees("Stopped")) << shell_.screen();
  const auto holder_pid = keeper_of("n");
  EXPECT_EQ(finish(std::move(holder)).code, 1);
  ASSERT_TRUE(eventually([&] {
    const auto holders = show("n")["holders"];
    return holders.size() == 1 && holders[0]["pid"] != holder_pid;
  }));
  EXPECT_EQ(read_file("command"), "") << "the command was started behind the user's back";
  shell_.type("fg\n");
  EXPECT_TRUE(shell_.sees("wasrun")) << shell_.screen();
}

TEST_F(job_control, a_closed_terminal_ends_the_command_and_frees_the_lock) {
  type_run("", "echo is ready; sleep 1000");
  ASSERT_TRUE(shell_.sees("is ready")) << shell_.screen();
  const pid_t keeper = keeper_of("n");
  shell_.hang_up();
  EXPECT_TRUE(wait_until_gone(command()));
  EXPECT_TRUE(wait_until_gone(keeper));
  EXPECT_TRUE(is_free("n"));
}

TEST_F(job_control, a_closed_terminal_is_told_also_where_holdfast_leads_the_session) {
  std::ofstream(path("script")) << "echo $$ >$DIR/command; trap 'echo hung up >$DIR/told; exit' HUP; "
                                   "sleep 1000 & echo is ready; wait";
  shell_.type("exec \"$HOLDFAST\" run n -- sh $DIR/script\n");
  ASSERT_TRUE(shell_.sees("is ready")) << shell_.screen();
  shell_.hang_up();
  EXPECT_TRUE(wait_until_gone(command()));
  EXPECT_EQ(read_file("told"), "hung up\n");
  EXPECT_TRUE(eventually([&] { return is_free("n"); }));
}

}  // namespace
}  // namespace holdfast::cli::testing
