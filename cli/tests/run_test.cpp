#include "cli_fixture.hpp"

#include <unistd.h>

#include <csignal>
#include <fstream>

namespace holdfast::cli::testing {
namespace {

using run_command = cli_test;

TEST_F(run_command, repeats_the_exit_code) {
  for (const int code : {0, 1, 42, 64, 75, 255}) {
    EXPECT_EQ(run({"run", "n", "--", "sh", "-c", "exit " + std::to_string(code)}).code, code);
  }
}

TEST_F(run_command, says_128_plus_n_of_a_command_that_a_signal_ended) {
  for (const int number : {SIGTERM, SIGKILL, SIGSEGV}) {
    EXPECT_EQ(run({"run", "n", "--", "sh", "-c", "kill -" + std::to_string(number) + " $$"}).code, 128 + number);
  }
}

TEST_F(run_command, a_command_that_does_not_exist_is_127) {
  for (const std::string command : {"no-such-command", "/no/such/command", "/etc/passwd/command"}) {
    const outcome end = run({"run", "n", "--", command});
    EXPECT_EQ(end.code, 127);
    EXPECT_NE(end.err.find("'" + command + "'"), std::string::npos) << end.err;
  }
  EXPECT_TRUE(is_free("n"));
}

TEST_F(run_command, a_command_that_cannot_be_run_is_126) {
  std::ofstream(path("data")) << "not a program";
  EXPECT_EQ(run({"run", "n", "--", path("data")}).code, 126);
  EXPECT_EQ(run({"run", "n", "--", "/"}).code, 126);
}

TEST_F(run_command, closed_standard_descriptors_stay_closed_and_nothing_of_ours_takes_their_place) {
  const auto script = [&](const std::string& text) { return finish(start_program({"sh", "-c", text})); };
  how_.environment["HOLDFAST_STORE"] = "file://" + path("locks");
  const std::string look = "test ! -e /proc/$$/fd/0 -a ! -e /proc/$$/fd/2 && echo closed >$DIR/seen";
  EXPECT_EQ(script("exec \"$HOLDFAST\" run n -- sh -c '" + look + "' <&- 2>&-").code, 0);
  EXPECT_EQ(read_file("seen"), "closed\n");
  EXPECT_EQ(script("exec \"$HOLDFAST\" run n -- /nowhere/to/be/found 2>&-").code, 127);
  EXPECT_EQ(script("exec \"$HOLDFAST\" stores >&-").code, 1) << "what could not be written is no success";
  EXPECT_EQ(script("exec \"$HOLDFAST\" run n -- true").code, 0);
}

TEST_F(run_command, a_lock_not_obtained_is_75_and_leaves_nothing) {
  child holder = start_script("n", {}, "echo ready; read x");
  const outcome at_once = run({"run", "n", "--no-wait", "--", "touch", path("ran")});
  EXPECT_EQ(at_once.code, 75);
  EXPECT_EQ(std::ranges::count(at_once.err, '\n'), 1) << at_once.err;
  const outcome in_time = run({"run", "n", "--wait", "30ms", "--", "touch", path("ran")});
  EXPECT_EQ(in_time.code, 75);
  EXPECT_NE(in_time.err.find("'n'"), std::string::npos) << in_time.err;
  EXPECT_EQ(::access(path("ran").c_str(), F_OK), -1);
  EXPECT_TRUE(show("n")["waiters"].empty());
  EXPECT_EQ(finish(std::move(holder)).code, 1) << "read at the end of its input";
  EXPECT_EQ(run({"run", "n", "--no-wait", "--", "true"}).code, 0);
}

TEST_F(run_command, waits_until_the_lock_comes_free) {
  child holder = start_script("n", {}, "echo ready; read x; echo first >>$DIR/order");
  child waiter = start({"run", "n", "--", "sh", "-c", "echo second >>$DIR/order"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  holder.write_line("go");
  EXPECT_EQ(finish(std::move(holder)).code, 0);
  EXPECT_EQ(finish(std::move(waiter)).code, 0);
  EXPECT_EQ(read_file("order"), "first\nsecond\n");
}

TEST_F(run_command, fair_waiters_come_in_order) {
  child holder = start_script("n", {"--fair"}, "echo ready; read x");
  std::vector<child> waiters;
  for (std::size_t i = 0; i < 4; ++i) {
    waiters.push_back(start({"run", "n", "--fair", "--", "sh", "-c", "echo " + std::to_string(i) + " >>$DIR/order"}));
    ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == i + 1; }));
  }
  holder.write_line("go");
  for (child& waiter : waiters) EXPECT_EQ(finish(std::move(waiter)).code, 0);
  EXPECT_EQ(read_file("order"), "0\n1\n2\n3\n");
}

TEST_F(run_command, a_store_that_cannot_be_used_is_69) {
  std::ofstream(path("corrupt.db")) << std::string(8192, 'x');
  for (const std::string url : {"sqlite:///proc/nowhere/locks.db", "file:///proc/nowhere"}) {
    const outcome end = run({"run", "n", "--store", url, "--", "true"});
    EXPECT_EQ(end.code, 69) << url << ": " << end.err;
    EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
  }
  EXPECT_EQ(run({"run", "n", "--store", "sqlite://" + path("corrupt.db"), "--", "true"}).code, 69);
  EXPECT_EQ(run({"ls", "--store", "sqlite://" + path("corrupt.db")}).code, 69);
}

TEST_F(run_command, what_a_store_cannot_do_is_64) {
  const outcome end = run({"run", "n", "--store", "file://" + path("files"), "--fair", "--", "true"});
  EXPECT_EQ(end.code, 64) << end.err;
}

TEST_F(run_command, exports_name_and_token) {
  how_.environment["HOLDFAST_TOKEN"] = "stale";
  how_.environment["OTHER"] = "kept";
  long long last = 0;
  for (int i = 0; i < 3; ++i) {
    child command = start({"run", "a name/with \xC3\xA9", "--", "sh", "-c",
                           "echo \"$HOLDFAST_NAME\"; echo $HOLDFAST_TOKEN; echo $OTHER; env | grep -c HOLDFAST_TOKEN"});
    EXPECT_EQ(command.read_line(), "a name/with \xC3\xA9");
    const long long token = std::stoll(command.read_line().value_or("0"));
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(command.read_line(), "kept");
    EXPECT_EQ(command.read_line(), "1");
    EXPECT_EQ(finish(std::move(command)).code, 0);
  }
}

TEST_F(run_command, the_standard_streams_are_the_commands) {
  child command = start({"run", "n", "--", "sh", "-c", "cat; echo problem >&2"});
  command.write_line("text");
  const outcome end = finish(std::move(command));
  EXPECT_EQ(end.out, "text\n");
  EXPECT_EQ(end.err, "problem\n");
}

TEST_F(run_command, shared_holders_are_together_and_alone_means_alone) {
  child reader = start_script("n", {"--shared"}, "echo ready; read x");
  EXPECT_EQ(run({"run", "n", "--shared", "--no-wait", "--", "true"}).code, 0);
  EXPECT_EQ(run({"run", "n", "--no-wait", "--", "true"}).code, 75);
  child writer = start({"run", "n", "--", "echo", "alone"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  EXPECT_EQ(finish(std::move(reader)).code, 1);
  EXPECT_EQ(finish(std::move(writer)).out, "alone\n");
}

TEST_F(run_command, a_shared_wait_ends_when_the_one_alone_is_done) {
  child alone = start_script("n", {}, "echo ready; read x");
  EXPECT_EQ(run({"run", "n", "--shared", "--no-wait", "--", "true"}).code, 75);
  child reader = start({"run", "n", "--shared", "--", "echo", "together"});
  ASSERT_TRUE(eventually([&] { return show("n")["waiters"].size() == 1; }));
  EXPECT_EQ(finish(std::move(alone)).code, 1);
  EXPECT_EQ(finish(std::move(reader)).out, "together\n");
}

TEST_F(run_command, permits_are_taken_together_or_not_at_all) {
  child first = start_script("n", {"--permits", "2", "--of", "4"}, "echo ready; read x");
  child second = start_script("n", {"--permits", "1", "--of", "4"}, "echo ready; read x");
  EXPECT_EQ(run({"run", "n", "--permits", "2", "--of", "4", "--no-wait", "--", "true"}).code, 75);
  EXPECT_EQ(run({"run", "n", "--permits", "1", "--of", "4", "--no-wait", "--", "true"}).code, 0);
  EXPECT_EQ(finish(std::move(first)).code, 1);
  EXPECT_EQ(run({"run", "n", "--permits", "3", "--of", "4", "--no-wait", "--", "true"}).code, 0);
}

TEST_F(run_command, works_on_the_file_store) {
  const std::string store = "file://" + path("files");
  child holder = start({"run", "n", "--store", store, "--", "sh", "-c", "echo ready; read x"});
  ASSERT_EQ(holder.read_line(), "ready");
  EXPECT_EQ(run({"run", "n", "--store", store, "--no-wait", "--", "true"}).code, 75);
  EXPECT_EQ(finish(std::move(holder)).code, 1);
  EXPECT_EQ(run({"run", "n", "--store", store, "--no-wait", "--", "true"}).code, 0);
}

TEST_F(run_command, a_short_ttl_is_renewed_as_long_as_the_command_runs) {
  child holder = start_script("n", {"--ttl", "1s"}, "echo ready; read x");
  // Far more looks than fit into one ttl: each takes a process.
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2500)) {
    ASSERT_EQ(show("n")["holders"].size(), 1U);
  }
  holder.write_line("go");
  EXPECT_EQ(finish(std::move(holder)).code, 0);
}

TEST_F(run_command, without_a_store_it_uses_the_users_own) {
  how_.environment["HOLDFAST_STORE"] = "";
  how_.environment["XDG_STATE_HOME"] = path("state");
  EXPECT_EQ(run({"run", "n", "--", "true"}).code, 0);
  EXPECT_EQ(::access(path("state").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace holdfast::cli::testing
