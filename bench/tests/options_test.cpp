#include "options.hpp"

#include <gtest/gtest.h>

namespace holdfast::bench {
namespace {

parsed_options parse(std::vector<const char*> words) {
  words.insert(words.begin(), "bench");
  return parse_options(static_cast<int>(words.size()), words.data());
}

std::string wrong(std::vector<const char*> words) {
  const auto parsed = parse(std::move(words));
  EXPECT_FALSE(parsed.wanted);
  return parsed.wrong ? parsed.wrong->text : "accepted";
}

TEST(bench_options, have_defaults) {
  const auto parsed = parse({});
  ASSERT_TRUE(parsed.wanted);
  EXPECT_TRUE(parsed.wanted->stores.empty());
  EXPECT_TRUE(parsed.wanted->workloads.empty());
  EXPECT_EQ(parsed.wanted->threads, 16u);
  EXPECT_EQ(parsed.wanted->processes, 8u);
  EXPECT_EQ(parsed.wanted->leases, 10'000u);
}

TEST(bench_options, are_all_taken_in_both_spellings) {
  const auto parsed = parse({"--store",
                             "memory:",
                             "--store=file:///a?b=c",
                             "--workload",
                             "fair",
                             "--workload=reentry",
                             "--threads",
                             "4",
                             "--processes=3",
                             "--leases",
                             "7",
                             "--seconds",
                             "0.5",
                             "--json=a",
                             "--plot",
                             "b.svg",
                             "--check",
                             "--progress",
                             "--peer",
                             "one=/a/b --c=d",
                             "--peer=two=x"});
  ASSERT_TRUE(parsed.wanted) << parsed.wrong->text;
  const auto& o = *parsed.wanted;
  EXPECT_EQ(o.stores, (std::vector<std::string>{"memory:", "file:///a?b=c"}));
  EXPECT_EQ(o.workloads, (std::vector{workload::fair, workload::reentry}));
  EXPECT_EQ(o.threads, 4u);
  EXPECT_EQ(o.processes, 3u);
  EXPECT_EQ(o.leases, 7u);
  EXPECT_EQ(o.seconds, std::chrono::milliseconds(500));
  EXPECT_EQ(o.json, "a");
  EXPECT_EQ(o.plot, "b.svg");
  EXPECT_EQ(o.goals, options::goals::check);
  ASSERT_EQ(o.peers.size(), 2u);
  EXPECT_EQ(o.peers[0].name, "one");
  EXPECT_EQ(o.peers[0].command, "/a/b --c=d");
  EXPECT_EQ(o.peers[1].command, "x");
  EXPECT_EQ(o.progress, options::progress_line::always);
}

TEST(bench_options, name_the_bad_value_and_what_would_be_right) {
  EXPECT_EQ(wrong({"--threads", "0"}), "--threads: '0' is not a whole number from 1 to 512");
  EXPECT_EQ(wrong({"--threads", "513"}), "--threads: '513' is not a whole number from 1 to 512");
  EXPECT_EQ(wrong({"--processes", "-1"}), "--processes: '-1' is not a whole number from 1 to 256");
  EXPECT_EQ(wrong({"--processes", "8x"}), "--processes: '8x' is not a whole number from 1 to 256");
  EXPECT_EQ(wrong({"--leases", ""}), "--leases: '' is not a whole number from 1 to 1000000");
  EXPECT_EQ(wrong({"--threads", "99999999999999999999"}),
            "--threads: '99999999999999999999' is not a whole number from 1 to 512");
  EXPECT_NE(wrong({"--workload", "fast"}).find("'fast' is not one of uncontended, many"), std::string::npos);
  EXPECT_NE(wrong({"--plot", "a.png"}).find("ends in .svg"), std::string::npos);
  EXPECT_NE(wrong({"--store", ""}).find("--store"), std::string::npos);
  EXPECT_NE(wrong({"--json="}).find("--json"), std::string::npos);
}

TEST(bench_options, refuse_peers_without_a_good_name_or_a_command) {
  for (const char* value : {"", "x", "=x", "a=", "A=x", "a b=x", "a/b=x", "more-than-sixteen=x"})
    EXPECT_NE(wrong({"--peer", value}).find("NAME=COMMAND"), std::string::npos) << value;
  EXPECT_NE(wrong({"--peer", "a=x", "--peer", "a=y"}).find("that name is taken"), std::string::npos);
}

TEST(bench_options, refuse_seconds_that_are_none) {
  for (const char* value : {"0", "-3", "nan", "inf", "1e3", "3s", "", "0.01", "3601"})
    EXPECT_NE(wrong({"--seconds", value}).find("from 0.05 to 3600"), std::string::npos) << value;
}

TEST(bench_options, refuse_what_they_do_not_know) {
  EXPECT_EQ(wrong({"--color"}), "unknown option '--color'");
  EXPECT_EQ(wrong({"--check=yes"}), "unknown option '--check=yes'");
  EXPECT_EQ(wrong({"memory:"}), "unexpected argument 'memory:'");
  EXPECT_EQ(wrong({"--store"}), "--store needs a value");
  EXPECT_EQ(wrong({"--seconds"}), "--seconds needs a value");
}

TEST(bench_options, help_wins) {
  EXPECT_TRUE(parse({"--help"}).help);
  EXPECT_TRUE(parse({"--threads", "2", "-h"}).help);
  for (const auto name : workload_names) EXPECT_NE(help_text.find(name), help_text.npos) << name;
}

}  // namespace
}  // namespace holdfast::bench
