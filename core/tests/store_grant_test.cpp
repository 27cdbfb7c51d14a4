#include "store_grant.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {

namespace {

using time_point = lease_clock::time_point;
constexpr time_point now{std::chrono::hours(100)};

}  // namespace

TEST(store_grant, validity_ends_a_margin_before_the_term) {
  EXPECT_EQ(store_grant::validity(now + 10s, now, 10s), now + 10s - drift_margin(10s));
  EXPECT_EQ(store_grant::validity(now + 1s, now, 10s), now + 1s - drift_margin(1s)) << "of the term, not of the ttl";
  EXPECT_EQ(store_grant::validity(now + 60s, now, 10s), now + 60s - drift_margin(10s));
}

TEST(store_grant, a_term_that_is_over_is_not_valid_for_ever) {
  EXPECT_LT(store_grant::validity(now - 1s, now, 10s), now);
  EXPECT_LT(store_grant::validity(time_point{}, now, 10s), now);
  EXPECT_EQ(store_grant::validity(time_point::min(), now, 10s), time_point::min());
  EXPECT_EQ(store_grant::validity(time_point::min() + 1ms, now, 10s), time_point::min());
  store_grant over({}, {.first_token = fencing_token(1), .expires = time_point::min()}, store_grant::life::fixed, now);
  EXPECT_TRUE(over.over(now));
}

}  // namespace holdfast::detail
