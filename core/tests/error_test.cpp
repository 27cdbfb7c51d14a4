#include <holdfast/error.hpp>
#include <holdfast/result.hpp>

#include <holdfast/lease.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace holdfast {
namespace {

TEST(error, every_code_has_a_sentence_of_its_own) {
  std::set<std::string> sentences;
  for (int code = 1; code <= static_cast<int>(errc::deadlock); ++code) {
    const auto text = category().message(code);
    EXPECT_EQ(text.back(), '.') << text;
    EXPECT_EQ(text.find("Unknown"), std::string::npos) << code;
    sentences.insert(text);
  }
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(errc::deadlock));
  EXPECT_NE(category().message(999).find("Unknown"), std::string::npos);
}

TEST(error, what_names_the_operation_the_lock_and_the_stores_words) {
  const error e({errc::rejected, "SQLITE_READONLY"}, "acquire", "orders/42");
  EXPECT_STREQ(e.what(), "acquire 'orders/42': The store refused the request. (SQLITE_READONLY)");
  EXPECT_EQ(e.operation(), "acquire");
  EXPECT_EQ(e.name(), "orders/42");
  EXPECT_EQ(e.detail(), "SQLITE_READONLY");
  EXPECT_EQ(e.code(), errc::rejected);
}

TEST(error, what_leaves_out_what_is_not_there) {
  EXPECT_STREQ(error({errc::lost, {}}).what(), "The lease was lost.");
  EXPECT_STREQ(error({errc::lost, {}}, "renew", {}).what(), "renew: The lease was lost.");
  EXPECT_STREQ(error({errc::lost, {}}, {}, "x").what(), "'x': The lease was lost.");
}

TEST(error, is_a_system_error_of_our_category) {
  try {
    throw error({errc::timed_out, {}}, "acquire", "x");
  } catch (const std::system_error& e) {
    EXPECT_EQ(&e.code().category(), &category());
    EXPECT_STREQ(category().name(), "holdfast");
  }
}

TEST(error, every_loss_has_words) {
  std::set<std::string> words;
  for (const auto cause : {loss::none, loss::expired, loss::taken, loss::session_ended, loss::unreachable})
    words.insert(to_string(cause));
  EXPECT_EQ(words.size(), 5U);
  EXPECT_FALSE(words.contains("unknown"));
}

TEST(result, holds_a_value_or_a_failure) {
  result<int> good = 7;
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, 7);
  EXPECT_EQ(good.value(), 7);
  result<int> bad(errc::lost, "gone");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, errc::lost);
  EXPECT_EQ(bad.error().detail, "gone");
  EXPECT_THROW((void)bad.value(), error);
  EXPECT_EQ(std::move(bad).value_or(3), 3);
  EXPECT_EQ(std::move(good).value_or(3), 7);
}

TEST(result, moves_what_cannot_be_copied) {
  result<std::unique_ptr<int>> r = std::make_unique<int>(7);
  auto taken = std::move(r).value();
  EXPECT_EQ(*taken, 7);
}

TEST(result, chains_stop_at_the_first_failure) {
  const auto half = [](int n) -> result<int> {
    if (n % 2 != 0) return {errc::invalid_argument, "odd"};
    return n / 2;
  };
  EXPECT_EQ(*result<int>(8).and_then(half).and_then(half), 2);
  EXPECT_EQ(result<int>(6).and_then(half).and_then(half).error().detail, "odd");
  EXPECT_EQ(*result<int>(8).transform([](int n) { return std::to_string(n); }), "8");
  EXPECT_FALSE(result<int>(errc::lost, "").transform([](int n) { return n; }));
}

TEST(result, of_nothing_is_success_or_a_failure) {
  result<void> good;
  EXPECT_TRUE(good);
  EXPECT_NO_THROW(good.value());
  result<void> bad(errc::lost, "gone");
  EXPECT_FALSE(bad);
  EXPECT_THROW(bad.value(), error);
}

}  // namespace
}  // namespace holdfast
