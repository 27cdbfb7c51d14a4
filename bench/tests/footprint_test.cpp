#include "footprint.hpp"

#include "children.hpp"
#include "command_timing.hpp"

#include <gtest/gtest.h>

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

TEST(holds, counts_what_it_keeps) {
  const auto found = measure_holds("memory:", "bench-test", 50, 100ms, [](double) {});
  EXPECT_EQ(found.count, 50u);
  EXPECT_GE(found.resident_mib, found.baseline_mib);
  EXPECT_GT(found.threads, 0u);
  ASSERT_TRUE(found.cpu_percent);
  EXPECT_GE(found.window, 100ms);
}

TEST(pending, lets_everybody_in_once) {
  const auto found = measure_pending("memory:", "bench-test", 200, [](double) {});
  EXPECT_EQ(found.count, 200u);
  EXPECT_GT(found.end_per_second, 0);
  EXPECT_LT(found.threads, 8u);
}

TEST(footprint, an_unknown_store_is_usage) {
  try {
    measure_holds("carrierpigeon:", "bench-test", 1, 1ms, [](double) {});
    FAIL() << "measured";
  } catch (const measurement_error& e) {
    EXPECT_EQ(e.exit_code(), exit_usage);
  }
}

TEST(commands, are_timed_in_turns) {
  const auto times = time_commands({"true"}, {"true"}, 1ms, [](double) {});
  EXPECT_EQ(times.runs, 20u);
  EXPECT_GT(times.ours, 0ns);
  EXPECT_GT(times.times_floor, 0);
}

TEST(commands, a_failing_one_is_named) {
  const auto text_of = [](const command_line& command) -> std::string {
    try {
      time_commands(command, {"true"}, 1ms, [](double) {});
    } catch (const measurement_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(text_of({"false", "x"}), "'false x' exited with 1");
  EXPECT_NE(text_of({"/nonexistent/program"}).find("cannot be started"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::bench
