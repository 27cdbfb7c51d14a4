#include "raw_zookeeper.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/scale.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <random>

// The connection is cut before, inside and after every request and reply of a lock's life.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

using direction = cutting_proxy::direction;
using manner = cutting_proxy::manner;

struct cut_case {
  const char* label;
  direction which;
  manner how;
};

class zookeeper_cut : public ::testing::TestWithParam<cut_case> {
 protected:
  std::string through() const { return "zk://127.0.0.1:" + std::to_string(proxy_.port()); }

  /// One life of a lock, with somebody who waits for it. One of the two comes through the proxy.
  template <class Lock>
  void live(Lock& ours, Lock& theirs) {
    fencing_token before;
    auto held = acquire(ours);
    if (held) before = held->token();
    auto waits = theirs.async_acquire({.wait = live_timeout});
    if (held) {
      // It may fail; then it was lost, which must be told, or it is still ours.
      [[maybe_unused]] const auto renewed = held->renew();
      // In this order: who is let in between the two looks is not a second one.
      const bool entered = waits.ready();
      EXPECT_FALSE(entered && held->valid()) << "two holders";
      [[maybe_unused]] const auto released = held->release();
    }
    // Whatever was cut: the next one gets in, and nothing of ours that is lost is in its way.
    const lease next = waits.get();
    EXPECT_GT(next.token(), before);
  }

  template <class Lock>
  static std::optional<lease> acquire(Lock& ours) {
    try {
      return ours.try_acquire({.wait = 5s});
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unavailable) << e.what();
      return std::nullopt;
    }
  }

  template <class Lock>
  void cut_often(Lock& cut, Lock& spared) {
    std::minstd_rand random{20261116};
    const auto cuts = static_cast<std::size_t>(scaled(125));
    for (int round = 0; proxy_.cuts() < cuts; ++round) {
      const bool to_server = GetParam().which == direction::to_server;
      // A life is about as many bytes.
      const auto bytes = std::uniform_int_distribution<std::size_t>(0, to_server ? 900 : 1100)(random);
      proxy_.cut_after(GetParam().which, bytes, GetParam().how);
      // By turns the holder is cut, and who waits for it.
      if (round % 2 == 0)
        live(cut, spared);
      else
        live(spared, cut);
      proxy_.pass();
      if (HasFailure()) FAIL() << "round " << round << ", cut after " << bytes << " bytes";
      ASSERT_LT(round, 20 * static_cast<int>(cuts)) << "the cuts do not come";
    }
  }

  zookeeper_server server_;
  cutting_proxy proxy_{server_.port()};
};

}  // namespace

TEST_P(zookeeper_cut, lets_no_two_in_loses_no_waiter_and_leaves_nothing) {
  // The session outlives every cut: what a lost answer leaves behind does not end by itself.
  const client_options options{.ttl = 40s, .request_timeout = 5s};
  const client through_proxy = connect(through(), options);
  mutex cut(through_proxy, "m", {.order = ordering::fifo});
  mutex spared(connect(server_.url(), options), "m", {.order = ordering::fifo});
  cut_often(cut, spared);
  const raw_zookeeper raw(server_.address());
  EXPECT_TRUE(eventually([&] { return raw.children("/m").empty(); }, 10s)) << "an orphan";
}

TEST_P(zookeeper_cut, permits_are_neither_lost_nor_made_up) {
  const client_options options{.ttl = 40s, .request_timeout = 5s};
  const client through_proxy = connect(through(), options);
  permit_semaphore cut(through_proxy, "s", 1);
  permit_semaphore spared(connect(server_.url(), options), "s", 1);
  cut_often(cut, spared);
  const raw_zookeeper raw(server_.address());
  EXPECT_TRUE(eventually([&] { return raw.children("/s/locks").empty() && raw.children("/s/leases").empty(); }, 10s))
      << "an orphan";
}

INSTANTIATE_TEST_SUITE_P(everywhere, zookeeper_cut,
                         ::testing::Values(cut_case{"requests_closed", direction::to_server, manner::close},
                                           cut_case{"replies_closed", direction::to_client, manner::close},
                                           cut_case{"requests_reset", direction::to_server, manner::reset},
                                           cut_case{"replies_reset", direction::to_client, manner::reset}),
                         [](const auto& at) { return std::string(at.param.label); });

}  // namespace holdfast::testing
