#include "redisson_test.hpp"

#include <algorithm>

// The fair queue, which both sides stand in together.

namespace holdfast::testing {

namespace {

const shared_kind fair{"fair", "fair", "mutex", "order=fifo"};

}  // namespace

class redisson_fair : public redisson_release_test {};

TEST_P(redisson_fair, both_sides_get_it_in_the_order_they_came) {
  contender holder = our_contender(fair);
  holder.acquire();
  std::vector<contender> line;
  for (int i = 0; i < 3; ++i) {
    line.push_back(their_contender(fair, "waiter" + std::to_string(i)));
    contest_.let_wait(line.back());
    line.push_back(our_contender(fair));
    contest_.let_wait(line.back());
  }
  holder.release();
  for (std::size_t i = 0; i < line.size(); ++i) {
    line[i].got();
    for (std::size_t j = i + 1; j < line.size(); ++j) EXPECT_FALSE(line[j].reply_within({})) << j << " before " << i;
    line[i].release();
  }
}

TEST_P(redisson_fair, who_gives_up_on_either_side_leaves_the_queue) {
  contender holder = our_contender(fair);
  holder.acquire();
  contender theirs = their_contender(fair);
  contender us = our_contender(fair);
  const auto nobody_queues = [&] {
    return server().command({"EXISTS", "redisson_lock_queue:{my}", "redisson_lock_timeout:{my}"}) == ":0";
  };
  EXPECT_EQ(theirs.ask("acquire fair my wait=300"), "busy");
  EXPECT_TRUE(eventually(nobody_queues, promised_second));
  EXPECT_TRUE(us.ask("acquire mutex my order=fifo wait=300").starts_with("error 1 "));
  EXPECT_TRUE(eventually(nobody_queues, promised_second));
  holder.release();
}

TEST_P(redisson_fair, one_of_theirs_that_is_killed_is_passed_over_when_its_time_in_the_queue_ends) {
  contender holder = our_contender(fair, brief_ttl);
  holder.acquire();
  contender theirs = their_contender(fair);
  // Redisson's clients are given by it as long as they meant to wait, beyond the ttl of the lock.
  theirs.tell("acquire fair my wait=2000");
  ASSERT_TRUE(eventually([&] { return server().command({"LLEN", "redisson_lock_queue:{my}"}) == ":1"; }));
  contender us = our_contender(fair);
  contest_.let_wait(us);
  theirs.kill();
  holder.release();
  us.got();
  us.release();
}

TEST_P(redisson_fair, one_of_ours_that_is_killed_is_passed_over_as_soon_as_another_of_ours_looks) {
  documented.insert(documented.end(), {"holdfast_wait:", "holdfast_line:"});  // They end by themselves.
  contender holder = their_contender(fair, "holder");
  holder.acquire();
  contender victim = our_contender(fair);
  contest_.let_wait(victim);
  contender theirs = their_contender(fair, "next");
  contest_.let_wait(theirs);
  victim.kill();
  holder.release();
  EXPECT_FALSE(mutex(ours(), "my", {.order = ordering::fifo}).try_acquire()) << "the one of theirs is next";
  theirs.got();
  theirs.release();
}

INSTANTIATE_TEST_SUITE_P(every, redisson_fair, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
