#include <holdfast/holdfast.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/memcached_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

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

class memcached_cut : public ::testing::TestWithParam<cut_case> {
 protected:
  static constexpr auto ttl = 900ms;
  static client_options options() { return {.ttl = ttl, .request_timeout = 1s}; }

  std::string through() const { return "memcached://127.0.0.1:" + std::to_string(proxy_.port()); }

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
    // Whatever was cut: the next one gets in, at the latest when the server drops the item.
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
  void suffer(Lock& cut, Lock& spared, std::size_t cuts, std::size_t bytes_of_a_life) {
    std::minstd_rand random{20261116};
    for (int round = 0; proxy_.cuts() < cuts; ++round) {
      const auto bytes = std::uniform_int_distribution<std::size_t>(0, bytes_of_a_life)(random);
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
    const client watch = connect(server_.url());
    EXPECT_TRUE(eventually([&] { return watch.inspect("").empty(); })) << "something is left";
  }

  memcached_server server_;
  cutting_proxy proxy_{server_.port()};
};

}  // namespace

TEST_P(memcached_cut, lets_no_two_hold_a_mutex_and_leaves_nothing) {
  mutex cut(connect(through(), options()), "m");
  mutex spared(connect(server_.url(), options()), "m");
  suffer(cut, spared, 60, GetParam().which == direction::to_server ? 1200 : 120);
}

TEST_P(memcached_cut, lets_no_two_hold_a_permit_and_leaves_nothing) {
  permit_semaphore cut(connect(through(), options()), "s", 1);
  permit_semaphore spared(connect(server_.url(), options()), "s", 1);
  suffer(cut, spared, 30, GetParam().which == direction::to_server ? 1200 : 8000);
}

TEST_P(memcached_cut, counts_every_update_of_a_cell_once_whoever_else_writes) {
  const client straight = connect(server_.url());
  cell cut(connect(through(), {.request_timeout = 5s}), "c");
  std::minstd_rand random{20261116};
  const auto plus_one = [](const std::string& old) { return std::to_string(old.empty() ? 1 : std::stol(old) + 1); };
  std::atomic<bool> stop{false};
  std::atomic<int> known{0};
  std::vector<std::thread> contenders;
  for (int i = 0; i < 3; ++i) {
    contenders.emplace_back([&] {
      cell theirs(connect(server_.url()), "c");
      for (; !stop; ++known) theirs.update(plus_one);
    });
  }
  int doubtful = 0;
  while (proxy_.cuts() < 40 && !HasFailure()) {
    const auto bytes = std::uniform_int_distribution<std::size_t>(0, 3000)(random);
    proxy_.cut_after(GetParam().which, bytes, GetParam().how);
    for (int i = 0; i < 3; ++i) {
      try {
        cut.update(plus_one);
        ++known;
      } catch (const error& e) {
        // It may have been written, and says so.
        EXPECT_TRUE(e.code() == errc::unavailable || e.code() == errc::rejected) << e.what();
        ++doubtful;
      }
    }
    proxy_.pass();
  }
  stop = true;
  for (auto& one : contenders) one.join();
  const int total = std::stoi(cell(straight, "c").load().value);
  EXPECT_GE(total, known);
  EXPECT_LE(total, known + doubtful);
}

INSTANTIATE_TEST_SUITE_P(everywhere, memcached_cut,
                         ::testing::Values(cut_case{"requests_closed", direction::to_server, manner::close},
                                           cut_case{"replies_closed", direction::to_client, manner::close},
                                           cut_case{"replies_reset", direction::to_client, manner::reset}),
                         [](const auto& at) { return std::string(at.param.label); });

}  // namespace holdfast::testing
