#include "raw_zookeeper.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

// What others do between two questions of ours.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

using direction = cutting_proxy::direction;
using manner = cutting_proxy::manner;

}  // namespace

TEST(zookeeper_order, a_permit_that_is_taken_while_we_look_is_counted) {
  const zookeeper_server server;
  cutting_proxy proxy(server.port());
  permit_semaphore ours(connect("zk://127.0.0.1:" + std::to_string(proxy.port()), {.ttl = 60s, .request_timeout = 10s}),
                        "s", 1);
  ASSERT_TRUE(succeeded(ours.acquire().release()));
  const raw_zookeeper raw(server.address());
  const std::string theirs = "_c_00000000-0000-4000-8000-000000000000-";
  // All that is sent on the way in is about four hundred bytes.
  for (std::size_t bytes = 0; bytes < 500; bytes += 10) {
    const auto guard = raw.create("/s/locks/" + theirs + "lock-", {}, raw_zookeeper::kind::ephemeral_sequential);
    const auto cuts = proxy.cuts();
    proxy.cut_after(direction::to_server, bytes, manner::stall);
    std::atomic<bool> answered{false};
    std::optional<lease> held;
    std::thread taker([&] {
      held = ours.try_acquire();
      answered = true;
    });
    EXPECT_TRUE(eventually([&] { return answered || proxy.cuts() > cuts; }));
    const auto permit = raw.create("/s/leases/" + theirs + "lease-", {}, raw_zookeeper::kind::ephemeral_sequential);
    EXPECT_TRUE(raw.remove(guard));
    proxy.pass();
    taker.join();
    ASSERT_FALSE(held.has_value()) << "two holders of one permit; stopped after " << bytes << " bytes";
    EXPECT_TRUE(raw.remove(permit));
  }
}

}  // namespace holdfast::testing
