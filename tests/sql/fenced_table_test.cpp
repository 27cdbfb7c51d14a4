// A fencing token as a condition that the database enforces.
#include "database.hpp"

namespace holdfast::testing {
namespace {

class fenced_rows : public on_database {
 protected:
  void SetUp() override {
    on_database::SetUp();
    make_numbers();
  }

  const sql::fenced_table numbers{{.table = "numbers"}};
  const sql::fenced_table::key one{{"id", 1}};
};
INSTANTIATE_TEST_SUITE_P(sql, fenced_rows, ::testing::Values("postgresql", "mariadb"),
                         [](const auto& one) { return one.param; });

TEST_P(fenced_rows, admit_newer_tokens_and_equal_ones_but_no_older) {
  const auto in = db->connect();
  EXPECT_EQ(numbers.write(*in, one, 10, {{"number", 1}}), sql::admission::admitted);
  EXPECT_EQ(numbers.write(*in, one, 10, {{"number", 2}}), sql::admission::admitted);
  EXPECT_EQ(numbers.write(*in, one, 10, {{"number", 2}}), sql::admission::admitted) << "and what is there already";
  EXPECT_EQ(numbers.write(*in, one, 9, {{"number", 3}}), sql::admission::refused);
  EXPECT_EQ(numbers.write(*in, one, 9, {{"number", 2}}), sql::admission::refused);
  EXPECT_EQ(number(*in), 2);
  EXPECT_EQ(numbers.write(*in, one, 9'223'372'036'854'775'807U, {{"number", 4}}), sql::admission::admitted);
  EXPECT_EQ(numbers.write(*in, one, 10, {}), sql::admission::refused);
  EXPECT_EQ(number(*in), 4);
  EXPECT_EQ(numbers.write(*in, {{"id", 99}}, 10, {{"number", 1}}), sql::admission::missing);
}

TEST_P(fenced_rows, decide_by_what_is_there_now_also_inside_a_transaction) {
  const auto old = db->connect();
  const auto fresh = db->connect();
  sql::run(*old, "BEGIN");
  EXPECT_EQ(number(*old), 0) << "MySQL's snapshot is from here";
  EXPECT_EQ(numbers.write(*fresh, one, 20, {{"number", 2}}), sql::admission::admitted);
  EXPECT_EQ(numbers.write(*old, one, 10, {{"number", 1}}), sql::admission::refused);
  sql::run(*old, "COMMIT");
  EXPECT_EQ(number(*fresh), 2);
}

TEST_P(fenced_rows, keep_older_holders_out_of_what_is_read_after_a_claim) {
  const auto older = db->connect();
  const auto newer = db->connect();
  sql::run(*newer, "BEGIN");
  EXPECT_EQ(numbers.write(*newer, one, 11, {}), sql::admission::admitted);
  const auto seen = number(*newer);
  sql::run(*newer, "COMMIT");
  EXPECT_EQ(numbers.write(*older, one, 10, {{"number", 7}}), sql::admission::refused)
      << "though nothing was written yet";
  EXPECT_EQ(number(*older), seen);
}

TEST_P(fenced_rows, take_no_token_of_nobody_and_leave_the_fence_to_itself) {
  const auto in = db->connect();
  for (const auto& why : {error_of([&] { static_cast<void>(numbers.write(*in, one, 0, {{"number", 1}})); }),
                          error_of([&] { static_cast<void>(numbers.write(*in, one, 1, {{"Fence", 1}})); })}) {
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code(), errc::invalid_argument);
  }
  EXPECT_EQ(number(*in), 0);
}

TEST_P(fenced_rows, forget_what_was_rolled_back) {
  const auto in = db->connect();
  sql::run(*in, "BEGIN");
  EXPECT_EQ(numbers.write(*in, one, 20, {{"number", 2}}), sql::admission::admitted);
  sql::run(*in, "ROLLBACK");
  EXPECT_EQ(numbers.write(*in, one, 10, {{"number", 1}}), sql::admission::admitted);
}

TEST_P(fenced_rows, need_a_key_that_names_one) {
  const auto in = db->connect();
  sql::run(*in, "INSERT INTO numbers(id, number) VALUES(2, 0)");
  sql::run(*in, "BEGIN");
  const auto why = error_of([&] { static_cast<void>(numbers.write(*in, {{"fence", 0}}, 5, {{"number", 9}})); });
  sql::run(*in, "ROLLBACK");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code(), errc::invalid_argument);
  EXPECT_EQ(number(*in), 0);
}

}  // namespace
}  // namespace holdfast::testing
