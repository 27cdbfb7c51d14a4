// `holdfast bench --peer` on a real server.
#include "bench_run.hpp"
#include "peer_script.hpp"

#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace holdfast::bench {
namespace {

using testing::redis_server;

// Fast, and careful to claim nothing that the guard does not have: pairs only where nobody contends.
constexpr auto fast = R"(echo ready
while read -r order length; do
  if [ "$3" = uncontended ]; then echo 5000000 1000000; else echo 0 1000000; fi
done
)";

struct measured : outcome {
  nlohmann::json json;
};

class bench_peers : public ::testing::Test {
 protected:
  measured bench(std::vector<std::string> words) {
    const std::string file = files_.path() + "/a.json";
    const std::vector<std::string> always{"--store", server_.url(), "--seconds", "0.1", "--json", file};
    words.insert(words.begin(), always.begin(), always.end());
    measured found{run_bench(std::move(words)), {}};
    found.json = nlohmann::json::parse(std::ifstream(file));
    return found;
  }

  redis_server server_;
  scratch_directory files_{temporary_parent()};
  peer_script fast_{fast};
};

TEST_F(bench_peers, stand_beside_our_rows) {
  const auto found = bench(
      {"--workload", "uncontended", "--workload", "processes", "--processes", "2", "--peer", "a=" + fast_.path()});
  ASSERT_EQ(found.code, 0) << found.err;
  const auto& rows = found.json.at("rows");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows.at(0).at("peer").is_null());
  EXPECT_EQ(rows.at(1).at("peer"), "a");
  EXPECT_EQ(rows.at(1).at("pairs_per_second"), 5e9);
  EXPECT_EQ(rows.at(1).at("floor_per_second"), rows.at(0).at("floor_per_second"));
  const double floor = rows.at(1).at("floor_per_second");
  EXPECT_NEAR(rows.at(1).at("ratio"), 5e9 / floor, 5e9 / floor / 1e6);
  EXPECT_EQ(rows.at(3).at("handovers_per_second"), 0);
  EXPECT_EQ(rows.at(3).at("processes"), 2);
  EXPECT_NE(found.out.find("4 rows, about "), std::string::npos);
}

TEST_F(bench_peers, that_fail_or_refuse_do_not_keep_the_others_from_being_measured) {
  const peer_script shy("echo unsupported no locks at all");
  const peer_script loud("echo what");
  const auto found = bench({"--workload", "uncontended", "--peer", "gone=/nonexistent/peer", "--peer",
                            "shy=" + shy.path(), "--peer", "loud=" + loud.path(), "--peer", "a=" + fast_.path()});
  EXPECT_EQ(found.code, 1);
  ASSERT_EQ(found.json.at("rows").size(), 2u);
  EXPECT_EQ(found.json.at("rows").at(1).at("peer"), "a");
  ASSERT_EQ(found.json.at("failures").size(), 2u);
  EXPECT_EQ(found.json.at("failures").at(0).at("peer"), "gone");
  EXPECT_EQ(found.json.at("failures").at(1).at("peer"), "loud");
  EXPECT_NE(found.err.find("redis uncontended, shy: left out: no locks at all"), std::string::npos) << found.err;
}

TEST_F(bench_peers, that_are_faster_than_ours_are_a_missed_goal) {
  const auto found = bench({"--workload", "uncontended", "--check", "--peer", "a=" + fast_.path()});
  EXPECT_EQ(found.code, 1);
  EXPECT_NE(found.err.find("goal missed: redis uncontended: a 5,000,000,000 pairs/s, ours "), std::string::npos)
      << found.err;
}

TEST_F(bench_peers, have_no_part_in_what_is_ours_alone) {
  const auto found = bench({"--workload", "reentry", "--peer", "gone=/nonexistent/peer"});
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(found.json.at("rows").size(), 1u);
}

}  // namespace
}  // namespace holdfast::bench
