#include "redis_error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace holdfast::redis {

TEST(redis_errors, each_has_its_meaning) {
  const struct {
    const char* said;
    errc means;
  } table[] = {
      {"LOADING Redis is loading the dataset in memory", errc::unavailable},
      {"BUSY Redis is busy running a script.", errc::unavailable},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", errc::unavailable},
      {"READONLY You can't write against a read only replica.", errc::unavailable},
      {"NOREPLICAS Not enough good replicas to write.", errc::unavailable},
      {"CLUSTERDOWN The cluster is down", errc::unavailable},
      {"ERR max number of clients reached", errc::unavailable},
      {"OOM command not allowed when used memory > 'maxmemory'.", errc::rejected},
      {"MISCONF Redis is configured to save RDB snapshots", errc::rejected},
      {"NOAUTH Authentication required.", errc::rejected},
      {"WRONGPASS invalid username-password pair or user is disabled.", errc::rejected},
      {"NOPERM this user has no permissions to run the 'evalsha' command", errc::rejected},
      {"WRONGTYPE Operation against a key holding the wrong kind of value", errc::rejected},
      {"MOVED 3999 127.0.0.1:6381", errc::unsupported},
      {"CROSSSLOT Keys in request don't hash to the same slot", errc::unsupported},
      {"ERR Error running script (call to f_x): @user_script:1: OOM command not allowed", errc::rejected},
      {"ERR something new", errc::rejected},
      {"", errc::rejected},
  };
  for (const auto& row : table) {
    const failure f = failure_of(row.said);
    EXPECT_EQ(f.code, make_error_code(row.means)) << row.said;
    EXPECT_FALSE(f.detail.empty());
  }
}

TEST(redis_errors, a_channel_that_is_forbidden_names_the_right) {
  for (const char* said : {"ERR The user executing the script can't publish to the channel mentioned in the command",
                           "NOPERM this user has no permissions to access one of the channels used as arguments"})
    EXPECT_NE(failure_of(said).detail.find("&holdfast_*"), std::string::npos) << said;
}

TEST(redis_errors, what_the_server_says_of_a_password_is_not_repeated) {
  for (const char* said : {"ERR unknown command 'AUTH', with args beginning with: 'app' 'hunter2' ",
                           "WRONGPASS hunter2", "NOPERM hunter2", "LOADING hunter2"}) {
    EXPECT_EQ(failure_of_auth(said).detail.find("hunter2"), std::string::npos) << said;
    EXPECT_FALSE(failure_of_auth(said).detail.empty());
  }
  EXPECT_EQ(failure_of_auth("LOADING").code, make_error_code(errc::unavailable));
}

TEST(redis_errors, a_broken_connection_is_unavailable_and_says_where) {
  const failure f = broken("127.0.0.1:6379", "cannot connect", ECONNREFUSED);
  EXPECT_EQ(f.code, make_error_code(errc::unavailable));
  EXPECT_EQ(f.detail, "redis 127.0.0.1:6379: cannot connect: Connection refused");
}

TEST(redis_errors, another_node_is_told_by_its_first_word) {
  for (const char* words : {"MOVED 1 a:1", "ASK 1 a:1", "CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys"})
    EXPECT_TRUE(tells_of_other_node(words)) << words;
  for (const char* words : {"ERR MOVED", "NOPERM", "", "ASKING"}) EXPECT_FALSE(tells_of_other_node(words)) << words;
}

}  // namespace holdfast::redis
