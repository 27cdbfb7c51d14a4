#include "bench_run.hpp"
#include "scratch_directory.hpp"
#include "xml_check.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::bench {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(bench_main, help_goes_to_stdout) {
  const auto found = run_bench({"--help"});
  EXPECT_EQ(found.code, 0);
  EXPECT_NE(found.out.find("--workload"), std::string::npos);
}

TEST(bench_main, a_bad_value_is_usage) {
  const auto found = run_bench({"--threads", "many"});
  EXPECT_EQ(found.code, 64);
  EXPECT_NE(found.err.find("--threads: 'many' is not"), std::string::npos);
}

TEST(bench_main, a_bad_url_is_usage) {
  EXPECT_EQ(run_bench({"--store", "carrierpigeon://x"}).code, 64);
  EXPECT_EQ(run_bench({"--store", "no url at all"}).code, 64);
}

TEST(bench_main, a_workload_the_store_cannot_do_is_usage) {
  const auto found = run_bench({"--store", "memory:", "--workload", "processes"});
  EXPECT_EQ(found.code, 64);
  EXPECT_NE(found.err.find("memory: lives in one process"), std::string::npos);
}

TEST(bench_main, an_output_that_cannot_be_written_is_found_at_once) {
  const auto found = run_bench({"--store", "memory:", "--json", "/nonexistent/a.json"});
  EXPECT_EQ(found.code, 64);
  EXPECT_NE(found.err.find("/nonexistent/a.json"), std::string::npos);
}

TEST(bench_main, a_store_without_servers_has_no_peers) {
  const auto found =
      run_bench({"--store", "memory:", "--workload", "uncontended", "--seconds", "0.05", "--peer", "x=false"});
  EXPECT_EQ(found.code, 0) << found.err;
}

TEST(bench_main, measures_and_writes_json_and_plot) {
  const scratch_directory scratch(temporary_parent());
  const std::string json_file = scratch.path() + "/a.json";
  const std::string svg_file = scratch.path() + "/a.svg";
  const auto found =
      run_bench({"--store", "memory:", "--workload", "uncontended", "--workload", "handover", "--workload", "reentry",
                 "--threads", "4", "--seconds", "0.1", "--json", json_file, "--plot", svg_file});
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_NE(found.err.find("[2/3] memory handover"), std::string::npos);
  const auto json = nlohmann::json::parse(read(json_file));
  ASSERT_EQ(json.at("rows").size(), 3u);
  EXPECT_GT(json.at("rows").at(0).at("ratio"), 0);
  EXPECT_GT(json.at("rows").at(1).at("handovers_per_second"), 0);
  EXPECT_GT(json.at("rows").at(1).at("counted"), 0);
  EXPECT_EQ(xml_fault(read(svg_file)), "");
}

}  // namespace
}  // namespace holdfast::bench
