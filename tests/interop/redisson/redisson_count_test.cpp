#include "redisson_test.hpp"

#include <holdfast/testing/scale.hpp>

// Four threads of Java and four processes of ours around a plain number.

namespace holdfast::testing {

class redisson_count : public redisson_release_test {
 protected:
  void expect_exact(const shared_kind& kind) {
    std::vector<contender> all;
    std::vector<std::string> commands;
    for (int i = 0; i < 4; ++i) {
      all.push_back(their_contender(kind, "thread" + std::to_string(i)));
      commands.push_back("count " + kind.theirs + " my");
      all.push_back(our_contender(kind));
      commands.push_back("count " + kind.ours + " my " + kind.options);
    }
    contest_.expect_exact_count(all, commands, scaled(500));
  }
};

TEST_P(redisson_count, with_a_lock_no_increment_is_lost) { expect_exact({"lock", "lock", "mutex"}); }

TEST_P(redisson_count, with_a_fair_lock_no_increment_is_lost) { expect_exact({"fair", "fair", "mutex", "order=fifo"}); }

TEST_P(redisson_count, with_write_locks_no_increment_is_lost) { expect_exact({"write", "write", "shared_mutex"}); }

INSTANTIATE_TEST_SUITE_P(every, redisson_count, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
