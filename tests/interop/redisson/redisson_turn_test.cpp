#include "redisson_test.hpp"

#include <holdfast/testing/shared_counter.hpp>
#include <holdfast/testing/temporary_directory.hpp>

// Whose turn it is: nobody gets in while a holder renews, and everybody does in the end.

namespace holdfast::testing {

using namespace std::chrono_literals;

class redisson_turn : public redisson_release_test {
 protected:
  /// Beyond the ttl of the holder, who renews it; whoever gives up leaves nothing.
  static void expect_kept_out(contender& holder, contender& other, const std::string& attempt,
                              const std::string& answer) {
    holder.acquire();
    EXPECT_TRUE(other.ask(attempt + " wait=2500").starts_with(answer)) << attempt;
    holder.release();
  }

  /// Two of ours that pass the lock on to each other without a pause do not keep it from one of theirs.
  void expect_a_turn(const shared_kind& kind) {
    const temporary_directory directory;
    const std::string file = (directory.path() / "counter").string();
    const shared_counter counter(file);
    const std::string endless = "count " + kind.ours + " my 100000000 " + kind.options + " counter=" + file;
    contender first = our_contender(kind, brief_ttl);
    contender second = our_contender(kind, brief_ttl);
    contender theirs = their_contender(kind);
    theirs.acquire();
    theirs.release();
    first.tell(endless);
    second.tell(endless);
    ASSERT_TRUE(eventually([&] { return counter.value() > 50; }));
    for (int i = 0; i < 5; ++i) {
      theirs.want();
      EXPECT_TRUE(theirs.reply_within(5s)) << kind.label << ", turn " << i;
      if (HasFailure()) break;
      theirs.release();
    }
    contest_.somebody_was_forced_out();
    first.kill();
    second.kill();
    // What the dead held ends, and whoever looks next sweeps their places in the queue.
    contender last = our_contender(kind);
    last.acquire();
    last.release();
  }
};

TEST_P(redisson_turn, whoever_renews_keeps_the_other_side_out_beyond_the_ttl) {
  const auto java = start_java(brief_ttl);
  for (const shared_kind& kind : {shared_kind{"lock", "lock", "mutex"}, {"read", "read", "shared_mutex"}}) {
    contender theirs = their_contender(java, kind);
    contender us = our_contender(kind, brief_ttl);
    expect_kept_out(theirs, us, "try " + kind.ours + " my", "busy");
  }
  for (const shared_kind& kind : {shared_kind{"fair", "fair", "mutex", "order=fifo"}, {"reader", "write", "reader"}}) {
    contender theirs = their_contender(java, kind);
    contender us = our_contender(kind, brief_ttl);
    expect_kept_out(us, theirs, "acquire " + kind.theirs + " my", "busy");
  }
}

TEST_P(redisson_turn, a_lock_that_ours_pass_on_comes_to_them_too) { expect_a_turn({"lock", "lock", "mutex"}); }
TEST_P(redisson_turn, a_fair_lock_that_ours_pass_on_comes_to_them_too) {
  expect_a_turn({"fair", "fair", "mutex", "order=fifo"});
}

INSTANTIATE_TEST_SUITE_P(every, redisson_turn, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
