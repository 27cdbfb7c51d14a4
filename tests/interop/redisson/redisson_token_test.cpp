#include "redisson_test.hpp"

// Fencing tokens over both sides: RFencedLock's counter and ours are one.

namespace holdfast::testing {

namespace {

const shared_kind fenced{"fenced", "fenced", "mutex"};

}  // namespace

class redisson_token : public redisson_release_test {
 protected:
  /// Both sides in turn, and one after the other of each: every token is greater than the one before.
  void expect_increasing() {
    contender theirs = their_contender(fenced);
    contender us = our_contender(fenced);
    std::uint64_t last = 0;
    for (int i = 0; i < 8; ++i) {
      contender& next = i % 3 == 0 ? us : theirs;
      const std::uint64_t token = std::stoull(next.acquire());
      EXPECT_GT(token, last) << i;
      last = token;
      next.release();
    }
  }
};

TEST_P(redisson_token, with_redissons_counter_both_sides_count_on) {
  url_options = "?tokens=redisson";
  expect_increasing();
  EXPECT_EQ(server().command({"GET", "redisson_lock_token:{my}"}), "8");
  EXPECT_EQ(server().command({"PTTL", "redisson_lock_token:{my}"}), ":-1");
}

TEST_P(redisson_token, with_the_clocks_tokens_both_sides_go_on_above_it) { expect_increasing(); }

TEST_P(redisson_token, a_counter_that_redisson_made_is_kept_for_ever) {
  contender theirs = their_contender(fenced);
  EXPECT_EQ(theirs.acquire(), "1");
  theirs.release();
  expect_increasing();
  EXPECT_EQ(server().command({"PTTL", "redisson_lock_token:{my}"}), ":-1");
}

TEST_P(redisson_token, a_lock_handed_over_between_the_sides_has_increasing_tokens) {
  contender theirs = their_contender(fenced);
  contender us = our_contender(fenced);
  std::uint64_t last = std::stoull(theirs.acquire());
  for (int i = 0; i < 3; ++i) {
    for (auto [holder, waiter] : {std::pair(&theirs, &us), std::pair(&us, &theirs)}) {
      contest_.let_wait(*waiter);
      holder->release();
      const std::uint64_t token = std::stoull(waiter->got());
      EXPECT_GT(token, last);
      last = token;
    }
  }
  theirs.release();
}

INSTANTIATE_TEST_SUITE_P(every, redisson_token, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
