#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// How many events the server has sent to watchers.
double events_sent(etcd_server& server) {
  const std::string metrics = server.node(0).get("/metrics");
  const std::string name = "\netcd_debugging_mvcc_events_total ";
  const auto at = metrics.find(name);
  return at == metrics.npos ? -1 : std::stod(metrics.substr(at + name.size()));
}

}  // namespace

TEST(etcd_watch, one_waiter_is_woken_per_release_however_many_wait) {
  etcd_server server;
  constexpr std::size_t crowd = 12;
  const client watcher = connect(server.url());
  mutex first(watcher, "m");
  lease held = first.acquire();
  std::deque<mutex> locks;
  std::vector<operation<lease>> waits;
  for (std::size_t i = 0; i < crowd; ++i) {
    locks.emplace_back(connect(server.url()), "m");
    waits.push_back(locks.back().async_acquire());
    ASSERT_TRUE(eventually([&] {
      const auto all = watcher.inspect("m");
      return all.size() == 1 && all[0].waiters.size() == i + 1;
    }));
  }
  const double before = events_sent(server);
  ASSERT_GE(before, 0);
  ASSERT_TRUE(succeeded(held.release()));
  for (auto& wait : waits) {
    lease next = wait.get();
    ASSERT_TRUE(succeeded(next.release()));
  }
  // Of each release the next in line hears, and who watched its own key.
  EXPECT_LE(events_sent(server) - before, 2.0 * (crowd + 1));
}

}  // namespace holdfast::testing
