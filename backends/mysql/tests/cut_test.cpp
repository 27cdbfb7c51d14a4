#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/mariadb_server.hpp>

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
  ordering order;
  direction which;
  manner how;
  const char* options = "";  // of the URL
};

class mysql_cut : public ::testing::TestWithParam<cut_case> {
 protected:
  static constexpr std::size_t cuts = 60;
  static constexpr auto ttl = 1500ms;

  std::string through() const {
    return "mysql://root@127.0.0.1:" + std::to_string(proxy_.port()) + "/holdfast" + GetParam().options;
  }

  /// One life of a lock, with somebody who waits for it. One of the two comes through the proxy.
  void live(mutex& ours, mutex& theirs) {
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
    // Whatever was cut: the next one gets in, at the latest when the ttl ends.
    const lease next = waits.get();
    EXPECT_GT(next.token(), before);
  }

  static std::optional<lease> acquire(mutex& ours) {
    try {
      return ours.try_acquire({.wait = 5s});
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unavailable) << e.what();
      return std::nullopt;
    }
  }

  mariadb_server server_;
  cutting_proxy proxy_{server_.port()};
};

}  // namespace

TEST_P(mysql_cut, lets_no_two_in_loses_no_waiter_and_leaves_nothing) {
  const lock_options order{.order = GetParam().order};
  const client_options options{.ttl = ttl, .request_timeout = 2s};
  mutex cut(connect(through(), options), "m", order);
  mutex spared(connect(server_.url(GetParam().options), options), "m", order);
  std::minstd_rand random{20261116};
  for (int round = 0; proxy_.cuts() < cuts; ++round) {
    // A life is about as many bytes.
    const bool to_server = GetParam().which == direction::to_server;
    const auto bytes = std::uniform_int_distribution<std::size_t>(0, to_server ? 1500 : 600)(random);
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
  const client watch = connect(server_.url(GetParam().options));
  EXPECT_TRUE(eventually([&] { return watch.inspect("m").empty(); })) << "something is left";
}

INSTANTIATE_TEST_SUITE_P(
    everywhere, mysql_cut,
    ::testing::Values(
        cut_case{"requests_closed", ordering::any, direction::to_server, manner::close},
        cut_case{"replies_closed", ordering::any, direction::to_client, manner::close},
        cut_case{"requests_reset", ordering::any, direction::to_server, manner::reset},
        cut_case{"replies_reset", ordering::fifo, direction::to_client, manner::reset},
        cut_case{"shedlock_requests_closed", ordering::any, direction::to_server, manner::close, "?layout=shedlock"},
        cut_case{"shedlock_replies_closed", ordering::any, direction::to_client, manner::close, "?layout=shedlock"}),
    [](const auto& at) { return std::string(at.param.label); });

}  // namespace holdfast::testing
