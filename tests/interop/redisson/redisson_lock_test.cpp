#include "redisson_test.hpp"

// What holds for every kind of lock: whoever releases wakes the other side; whoever is killed, holding or waiting, does
// not keep the other side out.

namespace holdfast::testing {

namespace {

const std::vector<std::string> time_of_a_permit{
    "EVAL",
    "local t = redis.call('TIME') return redis.call('ZRANGE', '{my}:timeout', 0, 0, 'WITHSCORES')[2] - (t[1] * 1000 + "
    "math.floor(t[2] / 1000))",
    "0"};

std::vector<shared_kind> kinds() {
  return {{"lock", "lock", "mutex"},
          {"recursive", "lock", "recursive_mutex"},
          {"nonreentrant", "nonreentrant", "mutex"},
          {"fair", "fair", "mutex", "order=fifo"},
          {"nonreentrant_fair", "nonreentrant_fair", "mutex", "order=fifo"},
          {"fenced", "fenced", "mutex"},
          {"write_write", "write", "shared_mutex"},
          {"read_write", "read", "shared_mutex"},
          {"write_read", "write", "reader"},
          {"permits", "permits", "permits", "of=1", time_of_a_permit, "ttl=1500"}};
}

using parameter = std::tuple<std::string, shared_kind>;

}  // namespace

void PrintTo(const shared_kind& kind, std::ostream* out) { *out << kind.label; }

class redisson_lock : public redisson_test, public ::testing::WithParamInterface<parameter> {
 protected:
  redisson_lock() : redisson_test(std::get<0>(GetParam())) {}
  void SetUp() override {
    redisson_test::SetUp();
    if (IsSkipped()) return;
    if (kind().theirs.starts_with("nonreentrant") && !has_nonreentrant()) GTEST_SKIP() << "Redisson has it since 4.4";
    if (kind().theirs == "permits") {
      java()->tell("main", "set_permits my 1");
      ASSERT_EQ(java()->reply_within("main", live_timeout), "yes");
      documented.push_back("my");  // The number of permits: it was set, and stays.
    }
  }
  const shared_kind& kind() const { return std::get<1>(GetParam()); }
};

TEST_P(redisson_lock, their_release_wakes_us) {
  contender theirs = their_contender(kind());
  contender us = our_contender(kind());
  contest_.expect_woken(theirs, us);
}

TEST_P(redisson_lock, our_release_wakes_them) {
  contender us = our_contender(kind());
  contender theirs = their_contender(kind());
  contest_.expect_woken(us, theirs);
}

TEST_P(redisson_lock, when_they_are_killed_we_get_in_after_the_ttl) {
  contender theirs = their_contender(start_java(brief_ttl), kind());
  contender us = our_contender(kind());
  contest_.expect_freed_by_ttl(theirs, us, kind().left);
}

TEST_P(redisson_lock, when_we_are_killed_they_get_in_after_the_ttl) {
  contender us = our_contender(kind(), brief_ttl);
  contender theirs = their_contender(kind());
  contest_.expect_freed_by_ttl(us, theirs, kind().left);
}

TEST_P(redisson_lock, a_waiter_of_theirs_that_is_killed_keeps_nobody_waiting) {
  contender holder = our_contender(kind());
  contender theirs = their_contender(start_java(), kind());
  contender us = our_contender(kind());
  contest_.expect_passed_over(holder, theirs, us);
}

TEST_P(redisson_lock, a_waiter_of_ours_that_is_killed_keeps_nobody_waiting) {
  contender holder = their_contender(kind(), "holder");
  contender us = our_contender(kind());
  contender theirs = their_contender(kind(), "next");
  contest_.expect_passed_over(holder, us, theirs);
}

INSTANTIATE_TEST_SUITE_P(every, redisson_lock,
                         ::testing::Combine(::testing::ValuesIn(redisson_versions()), ::testing::ValuesIn(kinds())),
                         [](const auto& test) {
                           return version_label(std::get<0>(test.param)) + "_" + std::get<1>(test.param).label;
                         });

}  // namespace holdfast::testing
