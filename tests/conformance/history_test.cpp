#include <holdfast/testing/history.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>

// A checker that cannot find anything proves nothing: each kind of contradiction must be found.

namespace holdfast::testing {

namespace {

using enum occurrence::kind;

}  // namespace

TEST(history_test, holds_that_follow_each_other_are_no_contradiction) {
  EXPECT_EQ(contradiction({{granted, 10, 1, 7}, {released, 20, 1, 7}, {granted, 20, 2, 8}, {valid, 25, 2, 8}}),
            std::nullopt);
  EXPECT_EQ(contradiction({}), std::nullopt);
}

TEST(history_test, holds_that_overlap_are_found) {
  EXPECT_TRUE(contradiction({{granted, 10, 1, 7}, {released, 21, 1, 7}, {granted, 20, 2, 8}, {released, 30, 2, 8}}));
  EXPECT_TRUE(contradiction({{granted, 10, 1, 7}, {valid, 21, 1, 7}, {granted, 20, 2, 8}}));
  EXPECT_TRUE(contradiction({{granted, 20, 2, 8}, {granted, 10, 1, 7}, {released, 40, 1, 7}}));
}

TEST(history_test, tokens_that_go_back_are_found) {
  EXPECT_TRUE(contradiction({{granted, 10, 5, 7}, {released, 20, 5, 7}, {granted, 30, 4, 8}, {released, 40, 4, 8}}));
}

TEST(history_test, tokens_granted_twice_or_never_are_found) {
  EXPECT_TRUE(contradiction({{granted, 10, 5, 7}, {granted, 30, 5, 8}}));
  EXPECT_TRUE(contradiction({{released, 10, 5, 7}}));
}

TEST(history_test, what_was_written_is_read_back) {
  const temporary_directory directory;
  const auto file = directory.path() / "history";
  {
    history_writer one(file);
    history_writer two(file);
    one.granted(3);
    two.granted(4);
    one.released(3);
  }
  const auto seen = read_history(file);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1].token, 4u);
  EXPECT_EQ(grants(seen), 2u);
  std::ofstream(file, std::ios::app) << "g 12";
  EXPECT_THROW(read_history(file), std::runtime_error);
}

}  // namespace holdfast::testing
