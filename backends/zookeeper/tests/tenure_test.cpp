#include "tenure.hpp"

#include <gtest/gtest.h>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

constexpr auto start = spi::time_point(1h);
constexpr auto timeout = 40s;
// For clocks that differ.
constexpr auto margin = 810ms;

class tenure_of_a_session : public ::testing::Test {
 protected:
  tenure_of_a_session() {
    t.begin(start);
    t.connected(timeout);
  }
  /// Sent then, and answered a second later.
  void read(std::chrono::seconds at) { t.heard(start + at, start + at + 1s); }
  void write(std::chrono::seconds at) { t.committed(start + at, start + at + 1s); }
  void expect_from(std::chrono::seconds known) const { EXPECT_EQ(t.end(), start + known + timeout - margin); }

  tenure t;
};

}  // namespace

TEST_F(tenure_of_a_session, lasts_from_the_asking_for_it_once_a_quorum_has_agreed_to_something) {
  EXPECT_LT(t.end(), start);
  write(1s);
  expect_from(0s);
}

TEST_F(tenure_of_a_session, is_not_moved_by_what_a_server_answers_alone) {
  write(1s);
  for (auto at = 2s; at < 60s; at += 2s) read(at);
  expect_from(0s);
}

TEST_F(tenure_of_a_session, is_moved_by_two_writes_to_what_the_leader_must_have_heard_of_before_them) {
  write(1s);
  read(5s);
  write(8s);
  expect_from(0s);
  read(12s);
  write(20s);  // The read was answered fourteen seconds before: there may have been no ping.
  expect_from(1s);
  write(21s);
  expect_from(5s);
  write(30s);
  expect_from(12s);
}

TEST_F(tenure_of_a_session, is_not_moved_by_the_first_write_after_reads) {
  write(1s);
  for (auto at = 2s; at < 40s; at += 2s) read(at);
  write(40s);  // A leader that goes on after a long pause commits this, and then ends the session.
  expect_from(0s);
  write(42s);
  expect_from(26s);
}

TEST_F(tenure_of_a_session, is_not_moved_by_writes_that_are_under_way_together) {
  write(1s);
  for (auto at = 2s; at < 40s; at += 2s) read(at);
  t.committed(start + 40s, start + 42s);
  t.committed(start + 41s, start + 43s);
  expect_from(0s);
  write(42s);
  expect_from(26s);
}

TEST_F(tenure_of_a_session, is_not_moved_to_what_was_answered_while_a_write_took_long) {
  write(1s);
  write(3s);
  for (auto at = 5s; at < 30s; at += 2s) read(at);
  t.committed(start + 24s, start + 30s);
  write(31s);
  write(40s);
  expect_from(3s);
  write(46s);  // Its own answer counts from when it came.
  expect_from(24s);
}

TEST_F(tenure_of_a_session, is_moved_by_writes_that_all_take_long) {
  for (auto at = 0s; at < 60s; at += 8s) t.committed(start + at, start + at + 8s);
  expect_from(32s);
}

TEST_F(tenure_of_a_session, is_not_moved_by_a_write_after_a_silence) {
  write(1s);
  write(35s);
  expect_from(0s);
}

TEST_F(tenure_of_a_session, counts_a_new_connection_from_the_last_answer_over_the_old_one) {
  read(20s);
  t.connected(timeout);
  EXPECT_LT(t.end(), start) << "a leader that was deposed would let us connect, too";
  write(25s);
  expect_from(20s);
}

TEST_F(tenure_of_a_session, counts_a_new_connection_from_when_it_had_not_been_asked_for) {
  write(1s);
  t.apart(start + 25s);
  t.apart(start + 30s);
  expect_from(0s);
  t.connected(timeout);
  write(33s);
  expect_from(25s);
}

TEST_F(tenure_of_a_session, does_not_count_a_look_at_another_connection_than_the_one_that_is_told_of) {
  write(1s);
  t.apart(start + 25s);
  t.apart(start + 30s);
  t.forget_apart();
  t.connected(timeout);
  write(33s);
  expect_from(1s);
}

TEST_F(tenure_of_a_session, ends_with_it_whatever_becomes_of_the_next) {
  write(1s);
  const auto before = t.ends();
  const auto end = before->load();
  t.begin(start + 100s);
  t.connected(timeout);
  write(101s);
  EXPECT_EQ(before->load(), end);
  expect_from(100s);
}

}  // namespace holdfast::zookeeper
