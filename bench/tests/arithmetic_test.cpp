#include "format.hpp"
#include "median.hpp"
#include "wait_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

TEST(wait_histogram, is_zero_when_empty) {
  const wait_histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.quantile(0.5), 0ns);
  EXPECT_EQ(empty.longest(), 0ns);
}

TEST(wait_histogram, small_waits_are_exact) {
  wait_histogram waits;
  for (int i = 1; i <= 20; ++i) waits.record(std::chrono::nanoseconds(i));
  EXPECT_EQ(waits.quantile(0.5), 10ns);
  EXPECT_EQ(waits.quantile(0.95), 19ns);
  EXPECT_EQ(waits.quantile(0.0), 1ns);
  EXPECT_EQ(waits.quantile(1.0), 20ns);
}

TEST(wait_histogram, one_outlier_in_a_thousand_shows_beyond_p99_9_only) {
  wait_histogram waits;
  for (int i = 0; i < 999; ++i) waits.record(10us);
  waits.record(5s);
  EXPECT_LT(waits.quantile(0.999), 11us);
  EXPECT_EQ(waits.quantile(0.9995), 5s);
  EXPECT_EQ(waits.longest(), 5s);
}

TEST(wait_histogram, quantiles_are_never_too_low_and_at_most_a_32nd_too_high) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> spread(10, 3);
  std::vector<std::int64_t> values(20'000);
  wait_histogram waits;
  for (auto& value : values) {
    value = std::llround(std::min(spread(random), 1e12));
    waits.record(std::chrono::nanoseconds(value));
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto exact = values[static_cast<std::size_t>(std::ceil(q * 20'000)) - 1];
    const auto found = waits.quantile(q).count();
    EXPECT_GE(found, exact) << q;
    EXPECT_LE(static_cast<double>(found), static_cast<double>(exact) * 33 / 32 + 1) << q;
  }
}

TEST(wait_histogram, merging_is_counting_both) {
  wait_histogram some;
  wait_histogram others;
  for (int i = 0; i < 10; ++i) some.record(1us);
  for (int i = 0; i < 90; ++i) others.record(1ms);
  some.merge(others);
  EXPECT_EQ(some.count(), 100u);
  EXPECT_LT(some.quantile(0.1), 2us);
  EXPECT_GE(some.quantile(0.11), 1ms);
  EXPECT_EQ(some.longest(), 1ms);
}

TEST(wait_histogram, takes_a_negative_wait_and_one_of_a_day) {
  wait_histogram waits;
  waits.record(-5ns);
  waits.record(24h);
  EXPECT_EQ(waits.quantile(0.5), 0ns);
  EXPECT_EQ(waits.longest(), 24h);
}

TEST(median, of_odd_even_and_no_values) {
  EXPECT_EQ(median(std::vector{5.0, 1.0, 3.0}), 3.0);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_EQ(median(std::vector<double>{}), 0.0);
  EXPECT_EQ(median(std::vector<double>{7.0}), 7.0);
}

TEST(format, numbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999.4), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567.8), "1,234,568");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(short_number(0.3124), "0.312");
  EXPECT_EQ(short_number(0.00312), "0.0031");
  EXPECT_EQ(short_number(5), "5");
  EXPECT_EQ(short_number(41.66), "41.7");
  EXPECT_EQ(short_number(1280.2), "1,280");
  EXPECT_EQ(short_number(0), "0");
}

TEST(format, durations) {
  EXPECT_EQ(short_duration(840ns), "840 ns");
  EXPECT_EQ(short_duration(12'430ns), "12.4 us");
  EXPECT_EQ(short_duration(3'100us), "3.10 ms");
  EXPECT_EQ(short_duration(999'600us), "1.00 s");
  EXPECT_EQ(short_duration(2s), "2.00 s");
}

}  // namespace
}  // namespace holdfast::bench
