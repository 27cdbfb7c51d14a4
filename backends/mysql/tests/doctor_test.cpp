#include "doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::mysql {

namespace {

using namespace std::chrono_literals;

symptoms healthy() {
  symptoms seen;
  seen.said = {{"version", "10.11.6-MariaDB"}, {"tables", "1"},      {"innodb_flush_log_at_trx_commit", "1"},
               {"read_only", "OFF"},           {"log_bin", "OFF"},   {"binlog_format", "MIXED"},
               {"max_connections", "151"},     {"connections", "5"}, {"replicas", "0"}};
  return seen;
}

bool finds(const symptoms& seen, finding::level how, const std::string& word) {
  const auto all = judge(seen, {.prefix = "holdfast_"});
  return std::any_of(all.begin(), all.end(),
                     [&](const finding& f) { return f.how == how && f.text.find(word) != std::string::npos; });
}

}  // namespace

TEST(mysql_doctor, a_healthy_server_has_facts_only) {
  for (const auto& f : judge(healthy(), {.prefix = "holdfast_"})) EXPECT_EQ(f.how, finding::level::fact) << f.text;
  EXPECT_TRUE(finds(healthy(), finding::level::fact, "MariaDB 10.11.6"));
}

TEST(mysql_doctor, each_setting_that_endangers_locks_is_found) {
  const auto with = [](const std::string& name, const std::string& value) {
    symptoms seen = healthy();
    seen.said[name] = value;
    return seen;
  };
  EXPECT_TRUE(finds(with("read_only", "ON"), finding::level::danger, "1290"));
  EXPECT_TRUE(finds(with("innodb_flush_log_at_trx_commit", "0"), finding::level::warning, "server"));
  EXPECT_TRUE(finds(with("innodb_flush_log_at_trx_commit", "2"), finding::level::warning, "machine"));
  EXPECT_TRUE(finds(with("replicas", "2"), finding::level::warning, "asynchronous"));
  EXPECT_TRUE(finds(with("connections", "150"), finding::level::warning, "max_connections"));
  EXPECT_TRUE(finds(with("version", "5.7.44"), finding::level::warning, "MySQL 5.7"));
  EXPECT_TRUE(finds(with("version", "8.0.36"), finding::level::fact, "MySQL 8.0"));
  symptoms log = with("log_bin", "ON");
  log.said["binlog_format"] = "STATEMENT";
  EXPECT_TRUE(finds(log, finding::level::danger, "1665"));
  symptoms clock = healthy();
  clock.ahead = 5s;
  EXPECT_TRUE(finds(clock, finding::level::warning, "apart"));
}

}  // namespace holdfast::mysql
