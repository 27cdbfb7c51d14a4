#include "doctor.hpp"

#include <gtest/gtest.h>

#include <map>

namespace holdfast::memcached {

namespace {

using table = std::map<std::string, std::string>;

reply list_of(const table& all) {
  reply out;
  out.kind = reply::what::list;
  for (const auto& [name, value] : all) out.lines.push_back("STAT " + name + " " + value);
  return out;
}

const table healthy_stats{{"version", "1.6.18"},    {"uptime", "100"},    {"time", "1000"},
                          {"evictions", "0"},       {"bytes", "1048576"}, {"max_connections", "100"},
                          {"curr_connections", "5"}};
const table healthy_settings{{"cas_enabled", "yes"}, {"evictions", "off"},    {"maxbytes", "67108864"},
                             {"lru_crawler", "yes"}, {"dump_enabled", "yes"}, {"item_size_max", "2097152"}};

std::vector<finding> judged(table stats, table set_up, std::string host = "127.0.0.1", std::int64_t now = 1000) {
  stats.insert(healthy_stats.begin(), healthy_stats.end());
  set_up.insert(healthy_settings.begin(), healthy_settings.end());
  settings where;
  where.servers = {{std::move(host), "11211"}};
  return judge({where.servers.front(), list_of(stats), list_of(set_up), now}, where);
}

finding::level level_of(const std::vector<finding>& all, const std::string& part) {
  for (const auto& one : all)
    if (one.text.find(part) != std::string::npos) return one.how;
  ADD_FAILURE() << "nothing is said of " << part;
  return finding::level::fact;
}

bool says(const std::vector<finding>& all, const std::string& part) {
  for (const auto& one : all)
    if (one.text.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST(memcached_judge, the_best_of_servers_is_still_best_effort) {
  const auto all = judged({}, {});
  EXPECT_EQ(level_of(all, "best effort"), finding::level::warning);
  for (const auto& one : all) EXPECT_NE(one.how, finding::level::danger) << one.text;
  EXPECT_FALSE(says(all, "-X"));
  EXPECT_FALSE(says(all, "password"));
}

TEST(memcached_judge, evictions_are_the_danger) {
  EXPECT_EQ(level_of(judged({{"evictions", "3"}}, {{"evictions", "on"}}), "evicted 3 items"), finding::level::danger);
  EXPECT_EQ(level_of(judged({}, {{"evictions", "on"}}), "none so far"), finding::level::warning);
}

TEST(memcached_judge, what_endangers_or_hinders_is_named_with_its_setting) {
  EXPECT_EQ(level_of(judged({}, {{"cas_enabled", "no"}}), "-C"), finding::level::danger);
  EXPECT_EQ(level_of(judged({}, {{"dump_enabled", "no"}}), "-X"), finding::level::warning);
  EXPECT_EQ(level_of(judged({}, {{"idle_timeout", "60"}}), "idle_timeout"), finding::level::warning);
  EXPECT_EQ(level_of(judged({{"curr_connections", "95"}}, {}), "95 of 100"), finding::level::warning);
  EXPECT_EQ(level_of(judged({}, {}, "127.0.0.1", 1100), "100 s behind"), finding::level::warning);
  EXPECT_EQ(level_of(judged({}, {}, "10.0.0.1"), "no password"), finding::level::warning);
  EXPECT_EQ(level_of(judged({}, {{"item_size_max", "1048576"}}), "-I"), finding::level::fact);
}

}  // namespace holdfast::memcached
