#include "ballot.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

constexpr spi::time_point now{100s};

spi::granted vote(std::uint64_t token, spi::time_point expires = now + 30s, std::uint32_t tokens = 1) {
  return {fencing_token(token), tokens, expires};
}

failure silence() { return {errc::unavailable, "nobody there"}; }

}  // namespace

TEST(ballot, is_open_while_answers_may_make_a_majority) {
  ballot b(5);
  for (std::size_t i = 0; i < 5; ++i) b.ask(i);
  EXPECT_EQ(b.judge(now), ballot::verdict::open);
  b.grant(0, vote(1));
  b.queue(1, now);
  b.queue(2, now);
  EXPECT_EQ(b.judge(now), ballot::verdict::open) << "one vote and two answers to come";
  b.queue(3, now);
  EXPECT_EQ(b.judge(now), ballot::verdict::busy);
}

TEST(ballot, a_majority_does_not_wait_for_the_rest) {
  ballot b(5);
  for (std::size_t i = 0; i < 5; ++i) b.ask(i);
  for (std::size_t i = 0; i < 3; ++i) b.grant(i, vote(1));
  EXPECT_EQ(b.judge(now), ballot::verdict::majority);
}

TEST(ballot, a_vote_whose_time_has_ended_does_not_count) {
  ballot b(3);
  b.grant(0, vote(1));
  b.grant(1, vote(1, now));
  b.queue(2, now);
  EXPECT_EQ(b.votes(now), 1U);
  EXPECT_EQ(b.judge(now), ballot::verdict::busy);
}

TEST(ballot, so_many_failures_that_no_majority_is_left_are_not_contention) {
  ballot b(5);
  b.grant(0, vote(1));
  b.queue(1, now);
  for (std::size_t i = 2; i < 5; ++i) b.fail(i, silence());
  EXPECT_EQ(b.judge(now), ballot::verdict::broken);
  EXPECT_EQ(b.why().code, errc::unavailable);
  EXPECT_EQ(b.why().detail, "3 of 5 servers do not vote, and 3 must: nobody there");
}

TEST(ballot, two_failures_of_five_are_survived) {
  ballot b(5);
  b.fail(0, silence());
  b.fail(1, silence());
  b.grant(2, vote(1));
  b.grant(3, vote(1));
  b.queue(4, now);
  EXPECT_EQ(b.judge(now), ballot::verdict::busy);
  b.grant(4, vote(1));
  EXPECT_EQ(b.judge(now), ballot::verdict::majority);
}

TEST(ballot, a_refusal_is_told_before_a_silence) {
  ballot b(3);
  b.fail(0, silence());
  b.fail(1, {errc::rejected, "out of memory"});
  b.fail(2, silence());
  EXPECT_EQ(b.why().code, errc::rejected);
}

TEST(ballot, the_outcome_has_the_newest_token_and_lasts_as_long_as_a_majority_does) {
  ballot b(5);
  b.grant(0, vote(7, now + 10s, 4));
  b.grant(1, vote(9, now + 30s, 4));
  b.grant(2, vote(8, now + 20s, 2));
  b.grant(3, vote(8, now + 5s, 4));
  const auto all = b.outcome(now);
  EXPECT_EQ(all.first_token, fencing_token(9));
  EXPECT_EQ(all.tokens, 2U) << "as many as everybody has drawn";
  EXPECT_EQ(all.expires, now + 10s) << "with the third longest of four";
}

TEST(ballot, counts_who_has_the_newest_token) {
  ballot b(3);
  b.grant(0, vote(7));
  b.grant(1, vote(9));
  EXPECT_EQ(b.votes_with(b.newest(now), now), 1U);
  b.raise(0, fencing_token(9));
  EXPECT_EQ(b.votes_with(b.newest(now), now), 2U);
}

TEST(ballot, looks_again_when_the_first_in_line_wants_to) {
  ballot b(3);
  EXPECT_EQ(b.look_again(), spi::time_point::max());
  b.queue(0, now + 3s);
  b.queue(1, now + 1s);
  EXPECT_EQ(b.look_again(), now + 1s);
}

}  // namespace holdfast::redis
