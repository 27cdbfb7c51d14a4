#include "peer_crew.hpp"

#include "children.hpp"
#include "peer_script.hpp"

#include <gtest/gtest.h>

#include <signal.h>

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

peer_plan plan_of(workload what, unsigned processes, unsigned threads) {
  peer_plan plan;
  plan.store = "redis";
  plan.servers = "127.0.0.1:1,127.0.0.1:2";
  plan.what = {what, "a/lock"};
  plan.processes = processes;
  plan.threads = threads;
  if (what == workload::handover) plan.how = crew_plan::manner::contended;
  plan.warm_up = 1ms;
  plan.length = 20ms;
  return plan;
}

peer_result run(const std::string& script, const peer_plan& plan) {
  const peer_script file(script);
  return run_peer({"other", file.path()}, plan, [](double) {});
}

std::string failure_of(const std::string& command, peer_plan plan = plan_of(workload::uncontended, 1, 1)) {
  try {
    run_peer({"other", command}, plan, [](double) {});
  } catch (const measurement_error& e) {
    EXPECT_EQ(e.exit_code(), exit_failed);
    return e.what();
  }
  return "none";
}

std::string failure_of_script(const std::string& script, peer_plan plan = plan_of(workload::uncontended, 1, 1)) {
  const peer_script file(script);
  return failure_of(file.path(), plan);
}

// Two workers, five pairs each time; the guard counts ten each time.
constexpr auto honest = R"sh(echo ready
total=0
while read -r order length; do
  total=$((total + 10))
  printf "\\$(printf %03o $total)" | dd of="$7" conv=notrunc 2>/dev/null
  echo 6 2000000 500 700 900
  echo 4 1000000 300
done
)sh";

TEST(bench_peer, is_measured_by_what_its_workers_say) {
  const auto rate = run(honest, plan_of(workload::handover, 1, 2)).rate;
  ASSERT_TRUE(rate);
  EXPECT_DOUBLE_EQ(rate->pairs_per_second, 5000);
  EXPECT_DOUBLE_EQ(rate->handovers_per_second.value(), 2000);
  EXPECT_EQ(rate->waits.value().longest, 900ns);
  EXPECT_GE(rate->waits.value().p50, 500ns);
  EXPECT_LT(rate->waits.value().p50, 700ns);
  EXPECT_NEAR(rate->share.value(), 4.0 / 6, 1e-9);
  EXPECT_EQ(rate->counted, 20u);
}

TEST(bench_peer, has_no_handovers_where_nobody_contends) {
  const auto rate = run(honest, plan_of(workload::many, 1, 2)).rate;
  ASSERT_TRUE(rate);
  EXPECT_FALSE(rate->handovers_per_second);
  EXPECT_FALSE(rate->waits);
  EXPECT_EQ(rate->counted, 0u);
}

TEST(bench_peer, is_told_what_to_do_in_each_of_its_processes) {
  const scratch_directory notes(temporary_parent());
  const std::string script = "echo \"$*\" >" + notes.path() + R"(/$6; echo ready
while read -r order length; do echo "$order $length" >>)" +
                             notes.path() + "/$6; echo 1 1000; echo 1 1000; done\n";
  ASSERT_TRUE(run(script, plan_of(workload::processes, 2, 2)).rate);
  for (const char* first : {"0", "2"}) {
    std::ifstream file(notes.path() + '/' + first);
    std::string line;
    std::getline(file, line);
    EXPECT_TRUE(line.starts_with("redis 127.0.0.1:1,127.0.0.1:2 processes a/lock 2 " + std::string(first) + " /"))
        << line;
    std::getline(file, line);
    EXPECT_EQ(line, "measure 1");
    std::getline(file, line);
    EXPECT_EQ(line, "measure 20");
  }
}

TEST(bench_peer, that_loses_an_update_is_found_out) {
  const auto why =
      failure_of_script("echo ready; while read -r order; do echo 5 1000; done", plan_of(workload::handover, 1, 1));
  EXPECT_NE(why.find("LOST UPDATE: 10 increments under the lock, but the counter says 0"), std::string::npos) << why;
}

TEST(bench_peer, may_refuse) {
  const auto result = run("echo unsupported it has no such lock", plan_of(workload::processes, 3, 1));
  EXPECT_FALSE(result.rate);
  EXPECT_EQ(result.unsupported, "it has no such lock");
}

TEST(bench_peer, that_fails_is_told_with_its_exit_code) {
  for (const char* script : {"exit 3", "echo ready; exit 3", "echo ready; read -r order; echo 1 1; exit 3"}) {
    const auto why = failure_of_script(script);
    EXPECT_NE(why.find("exited with 3"), std::string::npos) << why;
  }
  EXPECT_NE(failure_of_script("echo ready; while read -r o; do echo 1 1; done; exit 3").find("exited with 3"),
            std::string::npos);
}

TEST(bench_peer, that_ends_early_is_told) {
  EXPECT_EQ(failure_of_script("exit 0"), "ended before it answered");
  EXPECT_EQ(failure_of_script("echo ready"), "ended before it answered");
}

TEST(bench_peer, that_is_missing_is_told) {
  const auto why = failure_of("/nonexistent/peer");
  EXPECT_NE(why.find("exited with 127"), std::string::npos) << why;
}

TEST(bench_peer, that_talks_nonsense_is_quoted) {
  EXPECT_EQ(failure_of_script("echo hello"), "said 'hello' instead of 'ready' or 'unsupported WHY'");
  for (const std::string line : {"", "5", "5 x", "-5 1000", "5 1000 1.5", "5,1000", "5 99999999999999999999"}) {
    EXPECT_EQ(failure_of_script("echo ready; read -r order; echo '" + line + "'; cat"),
              "said '" + line + "' instead of 'PAIRS NANOSECONDS [WAIT...]'");
  }
}

TEST(bench_peer, that_says_nothing_is_given_up_and_ended) {
  const scratch_directory notes(temporary_parent());
  const std::string pid_file = notes.path() + "/pid";
  auto plan = plan_of(workload::uncontended, 1, 1);
  plan.patience = 2s;
  // Its stdin ends, which it does not care about.
  EXPECT_EQ(failure_of_script("echo ready; read -r order; echo $$ >" + pid_file + "; while :; do :; done", plan),
            "does not answer");
  int pid = 0;
  std::ifstream(pid_file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace holdfast::bench
