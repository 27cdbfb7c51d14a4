#include "raw_zookeeper.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

// A downgrade is made, and the answer to it lost.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

using direction = cutting_proxy::direction;
using manner = cutting_proxy::manner;

class zookeeper_sides : public ::testing::Test {
 protected:
  lease downgraded_unknown_to_us() {
    shared_mutex m(connect("zk://127.0.0.1:" + std::to_string(proxy_.port()), {.ttl = 60s, .request_timeout = 500ms}),
                   "m");
    lease held = m.acquire();
    // Nothing else is to be answered soon: it is watched already, and we were told.
    EXPECT_TRUE(eventually([&] { return server_.ask("wchp").find("__WRIT__") != std::string::npos; }));
    EXPECT_TRUE(eventually([&] { return succeeded(held.renew()); }));
    proxy_.cut_after(direction::to_client, 0, manner::hang);
    EXPECT_FALSE(held.downgrade());
    EXPECT_TRUE(eventually([&] { return is_reader(); }));
    return held;
  }
  bool is_reader() const {
    const auto nodes = raw_zookeeper(server_.address()).children("/m");
    return nodes.size() == 1 && nodes[0].find("__READ__") != std::string::npos;
  }
  static bool upgraded(lease& held) {
    try {
      return held.try_upgrade();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unavailable) << e.what();
      return false;
    }
  }

  zookeeper_server server_;
  cutting_proxy proxy_{server_.port()};
};

}  // namespace

TEST_F(zookeeper_sides, nobody_is_a_writer_again_without_the_store) {
  lease held = downgraded_unknown_to_us();
  server_.kill();
  proxy_.pass();
  EXPECT_FALSE(eventually([&] { return upgraded(held); }, 4s)) << "who said so?";
  server_.start();
  EXPECT_TRUE(eventually([&] { return upgraded(held); }));
  EXPECT_FALSE(shared_mutex(connect(server_.url()), "m").try_acquire_shared());
  EXPECT_TRUE(succeeded(held.release()));
}

TEST_F(zookeeper_sides, who_was_downgraded_unawares_keeps_the_readers_lease) {
  lease held = downgraded_unknown_to_us();
  proxy_.pass();
  EXPECT_TRUE(eventually([&] { return succeeded(held.renew()); }));
  EXPECT_TRUE(eventually([&] { return server_.ask("wchp").find("__READ__") != std::string::npos; }));
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(succeeded(held.release()));
}

}  // namespace holdfast::testing
