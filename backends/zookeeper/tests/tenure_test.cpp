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

TEST_F(tenure_of_a_session, is_moved_by_a_write_to_what_the_leader_must_have_heard_of_before_it) {
  write(1s);
  read(5s);
  read(12s);
  write(15s);  // The last that was answered ten seconds before it was sent at 1 s.
  expect_from(1s);
  write(16s);
  expect_from(5s);
  write(30s);
  expect_from(16s);
}

TEST_F(tenure_of_a_session, is_not_moved_by_a_write_after_a_silence) {
  write(1s);
  write(35s);
  expect_from(1s);
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
  t.apart(start + 30s);
  expect_from(0s);
  t.connected(timeout);
  write(33s);
  expect_from(30s);
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
