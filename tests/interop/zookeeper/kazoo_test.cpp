#include "curator_test.hpp"

#include <holdfast/testing/expectations.hpp>

// kazoo, as far as its layout allows: told to use Curator's names it stands in the same line; with its own it is
// refused.

namespace holdfast::testing {

using namespace std::chrono_literals;

class kazoo : public zookeeper_interop {
 protected:
  contender theirs(const std::string& kind, const std::string& thread = "main") {
    if (!python_) {
      python_ = std::make_shared<foreign_peer>(
          std::vector<std::string>{HOLDFAST_PEERS "/kazoo/bin/python3", HOLDFAST_KAZOO_PEER, server_.address()});
    }
    return {python_, thread, {.acquire = "acquire " + kind + " /shop/my", .release = "release"}};
  }
  std::shared_ptr<foreign_peer> python_;
};

TEST_F(kazoo, with_curators_names_it_excludes_both_ways_and_both_are_woken) {
  contender us = our_contender("mutex");
  contender them = theirs("curator");
  for (int round = 0; round < 3; ++round) {
    us.acquire();
    them.want();
    ASSERT_TRUE(waiting(1));
    EXPECT_FALSE(them.reply_within(short_wait)) << "both are in";
    us.release();
    them.got();
    us.want();
    ASSERT_TRUE(waiting(1));
    EXPECT_FALSE(us.reply_within(short_wait)) << "both are in";
    them.release();
    us.got();
    us.release();
  }
}

TEST_F(kazoo, with_its_own_names_it_is_refused) {
  contender them = theirs("plain");
  them.acquire();
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(ours(), "shop/my").try_acquire(); }));
  EXPECT_NE(error_text([&] { return mutex(ours(), "shop/my").try_acquire(); }).find("kazoo"), std::string::npos);
  them.release();
  EXPECT_TRUE(mutex(ours(), "shop/my").try_acquire({.wait = live_timeout}));
}

}  // namespace holdfast::testing
