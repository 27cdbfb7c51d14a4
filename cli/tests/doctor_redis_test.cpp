#include "cli_fixture.hpp"

#include <holdfast/testing/redis_server.hpp>

// What `holdfast doctor` makes of what a Redis server says; its findings are tested with the backend.

namespace holdfast::cli::testing {
namespace {

using holdfast::testing::redis_server;

class doctor_of_redis : public cli_test {};

TEST_F(doctor_of_redis, finds_a_good_server_good) {
  const redis_server server({"--appendonly", "yes", "--appendfsync", "always"});
  const outcome end = run({"doctor", "--store", server.url(), "--json"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  const auto report = nlohmann::json::parse(end.out);
  EXPECT_GT(report["findings"].size(), 5U);
  for (const auto& one : report["findings"]) EXPECT_EQ(one["level"], "fact") << one;
}

TEST_F(doctor_of_redis, warns_and_says_0_as_long_as_locks_hold) {
  const redis_server server;
  const outcome end = run({"doctor", "--store", server.url()});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_NE(end.out.find("warning  nothing is kept on disk"), std::string::npos) << end.out;
}

TEST_F(doctor_of_redis, says_1_of_a_server_that_evicts_locks) {
  const redis_server server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  const outcome end = run({"doctor", "--store", server.url()});
  EXPECT_EQ(end.code, 1) << end.out << end.err;
  EXPECT_NE(end.out.find("set maxmemory-policy noeviction"), std::string::npos) << end.out;
}

TEST_F(doctor_of_redis, says_69_of_one_that_is_gone) {
  redis_server server;
  server.kill();
  EXPECT_EQ(run({"doctor", "--store", server.url()}).code, 69);
}

}  // namespace
}  // namespace holdfast::cli::testing
