#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

namespace holdfast::testing {

// Until the first lock there is nothing to watch: the watch and what it is for may come at the same moment.
TEST(zookeeper_observers, a_root_that_is_made_this_very_moment_is_watched) {
  const zookeeper_server server;
  for (int round = 0; round < 100; ++round) {
    const std::string url = "zk://" + server.address() + "/round-" + std::to_string(round);
    client watcher = connect(url);
    mutex m(connect(url), "m");
    std::atomic<bool> seen{false};
    auto first = std::async(std::launch::async, [&] { return m.acquire(); });
    subscription watching = watcher.watch("m", [&](const change& c) {
      if (c.what == change::kind::granted) seen = true;
    });
    EXPECT_TRUE(eventually([&] { return seen.load(); })) << "round " << round;
    EXPECT_TRUE(first.get().valid());
    watching.cancel();
    if (HasFailure()) return;
  }
}

}  // namespace holdfast::testing
