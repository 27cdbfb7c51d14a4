#include <holdfast/holdfast.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST(zookeeper_latch, is_not_open_because_a_server_that_is_cut_off_has_not_heard_of_it) {
  zookeeper_ensemble servers(150);
  const zookeeper_server& alone = servers.follower();
  const latch ours(connect(alone.url(), {.ttl = 60s, .request_timeout = 1s}), "l");
  latch theirs(connect(servers.leader().url()), "l");
  EXPECT_TRUE(ours.try_wait()) << "it was never set";
  servers.isolate(alone);
  ASSERT_TRUE(theirs.try_set_count(1));
  try {
    EXPECT_FALSE(ours.try_wait());
    ADD_FAILURE() << "nobody can have said so";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unavailable) << e.what();
  }
  EXPECT_TRUE(alone.serves()) << "it was not there to mislead us";
  servers.reunite();
}

}  // namespace holdfast::testing
