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

using parameter = std::tuple<std::string, shared_kind>;

/// Every kind that each release has; with ordering::fifo, also those that have a fair queue.
std::vector<parameter> kinds(ordering order) {
  std::vector<parameter> all;
  for (const auto& version : redisson_versions()) {
    const auto add = [&](const shared_kind& kind) { all.emplace_back(version, kind); };
    add({"lock", "lock", "mutex"});
    add({"fenced", "fenced", "mutex"});
    add({"write_write", "write", "shared_mutex"});
    add({"read_write", "read", "shared_mutex"});
    add({"write_read", "write", "reader"});
    add({"permits", "permits", "permits", "of=1"});
    if (has_nonreentrant(version)) add({"nonreentrant", "nonreentrant", "mutex"});
    if (order == ordering::any) continue;
    add({"fair", "fair", "mutex", "order=fifo"});
    if (has_nonreentrant(version)) add({"nonreentrant_fair", "nonreentrant_fair", "mutex", "order=fifo"});
  }
  return all;
}

std::string label(const ::testing::TestParamInfo<parameter>& test) {
  return version_label(std::get<0>(test.param)) + "_" + std::get<1>(test.param).label;
}

}  // namespace

void PrintTo(const shared_kind& kind, std::ostream* out) { *out << kind.label; }

class redisson_lock : public redisson_test, public ::testing::WithParamInterface<parameter> {
 protected:
  redisson_lock() : redisson_test(std::get<0>(GetParam())) {}
  void SetUp() override {
    redisson_test::SetUp();
    if (IsSkipped()) return;
    if (kind().theirs == "permits") {
      server().command({"SET", "my", "1"});
      documented.push_back("my");  // The number of permits: it was set, and stays.
    }
  }
  const shared_kind& kind() const { return std::get<1>(GetParam()); }
  /// The same kind for one who is to keep everybody out.
  shared_kind excluding() const {
    shared_kind all = kind();
    if (all.ours == "reader") all.ours = "shared_mutex";
    if (all.theirs == "read") all.theirs = "write";
    return all;
  }
  std::vector<std::string> time_left() const {
    return kind().theirs == "permits" ? time_of_a_permit : std::vector<std::string>{"PTTL", "my"};
  }
};

/// What a dead waiter costs in a fair queue is another matter: redisson_fair_test.cpp.
class redisson_unfair_lock : public redisson_lock {};

TEST_P(redisson_lock, a_release_on_either_side_wakes_the_other) {
  contender theirs = their_contender(kind());
  contender us = our_contender(kind());
  contest_.expect_woken(theirs, us);
  contest_.expect_woken(us, theirs);
}

TEST_P(redisson_lock, when_they_are_killed_holding_we_get_in_after_the_ttl) {
  contender theirs = their_contender(start_java(brief_ttl), kind());
  contender us = our_contender(kind());
  contest_.expect_freed_by_ttl(theirs, us, time_left());
}

TEST_P(redisson_lock, when_we_are_killed_holding_or_waiting_they_get_in) {
  contender us = our_contender(kind(), brief_ttl);
  contender theirs = their_contender(kind());
  contest_.expect_freed_by_ttl(us, theirs, time_left());
  if (kind().options == "order=fifo") return;  // What a dead waiter costs there: redisson_fair_test.cpp.
  contender holder = their_contender(excluding(), "holder");
  contender victim = our_contender(kind());
  contender next = their_contender(excluding(), "next");
  contest_.expect_passed_over(holder, victim, next);
}

TEST_P(redisson_unfair_lock, when_they_are_killed_waiting_we_get_in) {
  contender holder = our_contender(excluding());
  contender theirs = their_contender(kind());
  contender us = our_contender(excluding());
  contest_.expect_passed_over(holder, theirs, us);
}

INSTANTIATE_TEST_SUITE_P(every, redisson_lock, ::testing::ValuesIn(kinds(ordering::fifo)), label);
INSTANTIATE_TEST_SUITE_P(every, redisson_unfair_lock, ::testing::ValuesIn(kinds(ordering::any)), label);

}  // namespace holdfast::testing
