#include "redisson_test.hpp"

// Taken by force: by `evict` from a Java service, by forceUnlock from us. And what each side sees of the other.

namespace holdfast::testing {

using namespace std::chrono_literals;

class redisson_evict : public redisson_release_test {
 protected:
  void expect_evicted(const shared_kind& kind) {
    contender theirs = their_contender(kind, "holder");
    contender next = our_contender(kind);
    contender after = their_contender(kind, "after");
    theirs.acquire();
    contest_.let_wait(next);
    EXPECT_TRUE(ours().evict("my"));
    next.got();
    contest_.let_wait(after);
    next.release();
    after.got();
    after.release();
    // It is told at its unlock, or not at all; whoever has the lock now is not disturbed.
    next.acquire();
    theirs.ask("release " + kind.theirs + " my");
    EXPECT_EQ(next.ask("valid"), "yes");
    next.release();
  }

  void expect_forced(const shared_kind& kind) {
    contender us = our_contender(kind, 3s);
    contender theirs = their_contender(kind, "next");
    contender force = their_contender(kind, "force");
    us.acquire();
    contest_.let_wait(theirs);
    contest_.somebody_was_forced_out();
    EXPECT_EQ(force.ask("force " + kind.theirs + " my"), "yes");
    theirs.got();
    EXPECT_TRUE(eventually([&] { return us.ask("lost") == "yes"; })) << "a renewal finds out";
    EXPECT_EQ(us.ask("cause"), std::to_string(static_cast<int>(loss::taken)));
    EXPECT_NE(us.ask("release"), "ok");
    EXPECT_EQ(force.ask("locked " + kind.theirs + " my"), "yes");
    theirs.release();
  }
};

TEST_P(redisson_evict, a_lock_of_theirs_goes_to_the_next) { expect_evicted({"lock", "lock", "mutex"}); }
TEST_P(redisson_evict, a_fair_lock_of_theirs_goes_to_the_next) {
  expect_evicted({"fair", "fair", "mutex", "order=fifo"});
}
TEST_P(redisson_evict, a_write_lock_of_theirs_goes_to_the_next) { expect_evicted({"write", "write", "shared_mutex"}); }

TEST_P(redisson_evict, a_lock_of_ours_that_is_forced_is_lost_here) { expect_forced({"lock", "lock", "mutex"}); }
TEST_P(redisson_evict, a_fair_lock_of_ours_that_is_forced_is_lost_here) {
  expect_forced({"fair", "fair", "mutex", "order=fifo"});
}
TEST_P(redisson_evict, a_write_lock_of_ours_that_is_forced_is_lost_here) {
  expect_forced({"write", "write", "shared_mutex"});
}

TEST_P(redisson_evict, each_side_sees_what_the_other_holds) {
  const shared_kind plain{"lock", "lock", "mutex"};
  contender theirs = their_contender(plain);
  theirs.acquire();
  const auto seen = ours().inspect("my");
  ASSERT_EQ(seen.size(), 1u);
  ASSERT_EQ(seen[0].holders.size(), 1u);
  EXPECT_EQ(seen[0].holders[0].owner, server().command({"EVAL", "return redis.call('HKEYS', 'my')[1]", "0"}));
  theirs.release();
  EXPECT_EQ(theirs.ask("locked lock my"), "no");
  const lease held = mutex(ours(), "my").acquire();
  EXPECT_EQ(theirs.ask("locked lock my"), "yes");
  EXPECT_TRUE(theirs.ask("release lock my").find("IllegalMonitorState") != std::string::npos);
}

TEST_P(redisson_evict, a_lock_that_they_hold_twice_is_free_after_the_second_release) {
  contender theirs = their_contender({"lock", "lock", "mutex"});
  recursive_mutex m(ours(), "my");
  theirs.acquire();
  theirs.acquire();
  theirs.release();
  EXPECT_FALSE(m.try_lock());
  theirs.release();
  ASSERT_TRUE(m.try_lock());
  m.lock();
  m.unlock();
  EXPECT_EQ(theirs.ask("acquire lock my wait=50"), "busy");
  m.unlock();
  theirs.acquire();
  theirs.release();
}

TEST_P(redisson_evict, a_spin_lock_of_theirs_tells_nobody_and_we_get_in_all_the_same) {
  contender theirs = their_contender({"spin", "spin", "mutex"});
  contender us = our_contender({"spin", "spin", "mutex"});
  theirs.acquire();
  contest_.let_wait(us);
  theirs.release();
  EXPECT_LT(time_taken([&] { us.got(); }), 5s);
  us.release();
}

INSTANTIATE_TEST_SUITE_P(every, redisson_evict, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
