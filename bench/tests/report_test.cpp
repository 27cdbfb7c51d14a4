#include "report.hpp"

#include "goals.hpp"
#include "xml_check.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

row contended_row(const std::string& store, workload what, double ratio) {
  row r;
  r.store = store;
  r.url = store + "://x?a=\"1\"&b=<2>";
  r.what = what;
  r.threads = 16;
  r.rate = speed{400'000, 390'000, handover_waits{30us, 90us, 200us, 2ms}, 0.95, 1'000'000};
  r.floor = floor_rate{"2 prepared statements", 390'000 / ratio};
  r.ratio = ratio;
  return r;
}

row holds_row() {
  row r;
  r.store = "sqlite";
  r.what = workload::holds;
  r.cost = footprint{10'000, 30.5, 9, 5, 40'000, 50'000, 0.4, 20s, 20'000};
  return r;
}

row run_row() {
  row r;
  r.store = "sqlite";
  r.what = workload::run;
  r.commands = command_times{4ms, 1ms, 4.0, 100};
  r.rate.emplace().pairs_per_second = 250;
  r.floor = floor_rate{"flock FILE true", 1000};
  r.ratio = 0.25;
  return r;
}

row peer_row(const std::string& name, double handovers_per_second) {
  row r = contended_row("redis", workload::processes, handovers_per_second / 1000);
  r.peer = name;
  r.rate->handovers_per_second = handovers_per_second;
  return r;
}

report sample() {
  return {{"Model \"X\" & <Co>", 2, "Linux 6", 24, 0.5},
          "2026-01-31T12:00:00Z",
          options{},
          {contended_row("sqlite", workload::handover, 6), contended_row("file", workload::processes, 0.5), holds_row(),
           run_row(), peer_row("redsync", 50)},
          {{"file", workload::holds, "out of \"files\"", 1}}};
}

TEST(bench_json, has_its_documented_fields) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json.at("format"), 1);
  EXPECT_EQ(json.at("machine").at("cpu"), "Model \"X\" & <Co>");
  EXPECT_EQ(json.at("seconds"), 3.0);
  EXPECT_EQ(json.at("failures").at(0).at("workload"), "holds");
  EXPECT_EQ(json.at("failures").at(0).at("why"), "out of \"files\"");
  ASSERT_EQ(json.at("rows").size(), 5u);
  const std::set<std::string> fields{
      "store",   "peer",  "url",     "workload",  "processes", "threads", "pairs_per_second", "handovers_per_second",
      "wait_ns", "share", "counted", "footprint", "commands",  "floor",   "floor_per_second", "ratio",
      "goals"};
  for (const auto& line : json.at("rows")) {
    std::set<std::string> found;
    for (const auto& [key, value] : line.items()) found.insert(key);
    EXPECT_EQ(found, fields);
  }
}

TEST(bench_json, has_the_numbers_of_the_rows) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  const auto& handover = json.at("rows").at(0);
  EXPECT_EQ(handover.at("handovers_per_second"), 390'000);
  EXPECT_EQ(handover.at("wait_ns").at("p99_9"), 200'000);
  EXPECT_EQ(handover.at("wait_ns").at("longest"), 2'000'000);
  EXPECT_EQ(handover.at("counted"), 1'000'000);
  EXPECT_EQ(handover.at("goals").at(0).at("met"), true);
  EXPECT_TRUE(handover.at("footprint").is_null());
  const auto& holds = json.at("rows").at(2);
  EXPECT_TRUE(holds.at("pairs_per_second").is_null());
  EXPECT_EQ(holds.at("footprint").at("renewed"), 20'000);
  EXPECT_EQ(json.at("rows").at(3).at("commands").at("times_floor"), 4.0);
  EXPECT_TRUE(json.at("rows").at(3).at("peer").is_null());
  EXPECT_EQ(json.at("rows").at(4).at("peer"), "redsync");
}

TEST(bench_machine, warns_when_others_use_it) {
  auto m = sample().where;
  EXPECT_EQ(warning(m), "");
  m.load = 16;
  EXPECT_NE(warning(m).find("load is 16 on 2 cores"), std::string::npos);
}

TEST(bench_plot, is_well_formed) {
  const std::string svg = to_svg(sample());
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_NE(svg.find("390,000"), std::string::npos);
  EXPECT_NE(svg.find("handover"), std::string::npos);
  EXPECT_NE(svg.find(">redsync<"), std::string::npos);
}

TEST(bench_plot, is_well_formed_without_rows) {
  auto empty = sample();
  empty.rows.clear();
  EXPECT_EQ(xml_fault(to_svg(empty)), "");
}

TEST(bench_plot, the_check_finds_faults) {
  EXPECT_NE(xml_fault("<a><b></a>"), "");
  EXPECT_NE(xml_fault("<a>x & y</a>"), "");
  EXPECT_NE(xml_fault("<a b=c/>"), "");
  EXPECT_NE(xml_fault("<a>"), "");
}

TEST(bench_goals, judge_each_row_by_its_own) {
  const auto verdicts = judge(contended_row("sqlite", workload::handover, 4.31));
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_FALSE(verdicts[0].met);
  EXPECT_EQ(describe(contended_row("sqlite", workload::handover, 4.31), verdicts[0]),
            "sqlite handover: ratio 4.31, goal at least 5");
  EXPECT_TRUE(verdicts[1].met);
  EXPECT_TRUE(judge(contended_row("memory", workload::handover, 0.1)).empty());
  EXPECT_FALSE(judge(run_row()).at(0).met);
  for (const auto& v : judge(holds_row())) EXPECT_TRUE(v.met);
}

TEST(bench_goals, a_row_without_the_number_misses) {
  auto r = contended_row("file", workload::processes, 2);
  r.ratio.reset();
  ASSERT_EQ(judge(r).size(), 1u);
  EXPECT_FALSE(judge(r)[0].met);
}

TEST(bench_goals, hold_the_longest_waits_against_the_usual_one) {
  auto r = contended_row("redis", workload::processes, 1);
  const auto waits = [&] { return judge(r).at(1); };
  EXPECT_EQ(waits().wanted.of, metric::p99_to_p50);
  EXPECT_DOUBLE_EQ(waits().value, 3);
  EXPECT_TRUE(waits().met);
  r.rate->waits->p99 = 121us;
  EXPECT_FALSE(waits().met);
  r.rate->waits.reset();
  EXPECT_FALSE(waits().met);
}

TEST(bench_goals, are_not_those_of_peers) { EXPECT_TRUE(judge(peer_row("redsync", 1)).empty()); }

TEST(bench_goals, ours_is_first) {
  const auto ours = contended_row("redis", workload::processes, 1);
  EXPECT_EQ(overtaken(ours, peer_row("redsync", 389'999)), std::nullopt);
  EXPECT_EQ(overtaken(ours, peer_row("redsync", 400'000)),
            "redis processes: redsync 400,000 handovers/s, ours 390,000");
}

TEST(bench_table, shows_numbers_and_missed_goals) {
  const auto line = table_line(contended_row("file", workload::processes, 0.5));
  EXPECT_NE(line.find("390,000"), std::string::npos);
  EXPECT_NE(line.find("200 us"), std::string::npos);
  EXPECT_NE(line.find("ratio >= 1 MISSED"), std::string::npos);
  EXPECT_NE(table_line(holds_row()).find("20,000 renewals in 20.0 s"), std::string::npos);
  EXPECT_NE(table_line(peer_row("redsync", 50)).find("redsync"), std::string::npos);
  EXPECT_NE(table_line(run_row()).find("4 times as long"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::bench
