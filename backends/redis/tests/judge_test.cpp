#include "doctor.hpp"

#include <gtest/gtest.h>

// What cannot be had from a server of this machine; the rest is in doctor_test.cpp.

namespace holdfast::redis {

using namespace std::chrono_literals;
using level = finding::level;

namespace {

symptoms healthy() {
  symptoms seen;
  seen.info = lines_of(
      "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
      "aof_enabled:1\r\nconnected_slaves:0\r\ncluster_enabled:0\r\nmaxclients:10000\r\nconnected_clients:3\r\n");
  seen.config = {{"save", ""},     {"appendfsync", "always"}, {"min-replicas-to-write", "0"},
                 {"timeout", "0"}, {"tcp-keepalive", "300"},  {"databases", "16"}};
  seen.ahead = 3ms;
  seen.tried = true;
  return seen;
}

/// The level of the finding with these words; none: -1.
int level_of(const std::vector<finding>& found, const std::string& words) {
  for (const auto& one : found)
    if (one.text.find(words) != std::string::npos) return static_cast<int>(one.how);
  return -1;
}

int level_of(const symptoms& seen, const std::string& words, const settings& where = {}) {
  return level_of(judge(seen, where), words);
}

constexpr int warning = static_cast<int>(level::warning);
constexpr int danger = static_cast<int>(level::danger);

}  // namespace

TEST(redis_doctor_judges, a_healthy_server_has_nothing_but_facts) {
  for (const auto& one : judge(healthy(), {})) EXPECT_EQ(one.how, level::fact) << one.text;
}

TEST(redis_doctor_judges, versions) {
  auto seen = healthy();
  (*seen.info)["redis_version"] = "5.0.14";
  EXPECT_EQ(level_of(seen, "older than 6.0"), danger);
  (*seen.info)["redis_version"] = "7.2.4";
  (*seen.info)["valkey_version"] = "8.0.1";
  EXPECT_EQ(level_of(seen, "Valkey 8.0.1"), 0);
}

TEST(redis_doctor_judges, clocks_that_disagree) {
  auto seen = healthy();
  seen.ahead = 1500ms;
  EXPECT_EQ(level_of(seen, "1500 ms ahead"), warning);
  seen.ahead = -2h;
  EXPECT_EQ(level_of(seen, "7200000 ms behind"), warning);
  seen.ahead.reset();
  EXPECT_EQ(level_of(seen, "cannot tell whether its clock"), warning);
}

TEST(redis_doctor_judges, a_disk_that_cannot_be_written) {
  auto seen = healthy();
  (*seen.info)["aof_last_write_status"] = "err";
  EXPECT_EQ(level_of(seen, "MISCONF"), danger);
}

TEST(redis_doctor_judges, memory_that_is_nearly_used_up) {
  auto seen = healthy();
  (*seen.info)["maxmemory"] = "1000000";
  (*seen.info)["used_memory"] = "950000";
  EXPECT_EQ(level_of(seen, "OOM"), warning);
}

TEST(redis_doctor_judges, a_cluster_that_is_whole_or_not) {
  auto seen = healthy();
  (*seen.info)["cluster_enabled"] = "1";
  EXPECT_EQ(level_of(seen, "cannot tell how the cluster is"), warning);
  seen.cluster = {{"cluster_state", "ok"}, {"cluster_slots_ok", "16384"}};
  EXPECT_EQ(level_of(seen, "the cluster is whole"), 0);
  seen.cluster = {{"cluster_state", "ok"}, {"cluster_slots_ok", "16380"}};
  EXPECT_EQ(level_of(seen, "4 of 16384 slots"), danger);
}

TEST(redis_doctor_judges, passwords_in_the_clear) {
  settings where;
  where.password = "secret";
  where.host = "127.0.0.1";
  EXPECT_EQ(level_of(healthy(), "in the clear", where), -1);
  where.host = "cache.example";
  EXPECT_EQ(level_of(healthy(), "in the clear", where), warning);
  for (const auto& one : judge(healthy(), where)) EXPECT_EQ(one.text.find("secret"), std::string::npos);
}

}  // namespace holdfast::redis
