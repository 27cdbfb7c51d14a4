#include <holdfast/options.hpp>

#include "back_off.hpp"
#include "counters.hpp"
#include "terms.hpp"

#include <holdfast/detail/function.hpp>
#include <holdfast/inspect.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(optional_duration, is_nothing_or_a_duration) {
  EXPECT_FALSE(optional_duration().has_value());
  EXPECT_FALSE(optional_duration(std::nullopt).has_value());
  EXPECT_EQ(optional_duration(3s).value(), 3s);
  EXPECT_EQ(optional_duration(std::chrono::duration<double>(0.5)).value(), 500ms);
  EXPECT_EQ(optional_duration().value_or(7s), 7s);
  EXPECT_EQ(optional_duration(0s).value_or(7s), 0s);
}

TEST(optional_duration, saturates_instead_of_overflowing) {
  EXPECT_EQ(optional_duration(std::chrono::hours::max()).value(), std::chrono::nanoseconds::max());
  EXPECT_EQ(optional_duration(std::chrono::hours::min()).value(), std::chrono::nanoseconds::min());
  EXPECT_EQ(optional_duration(std::chrono::years::max()).value(), std::chrono::nanoseconds::max());
  EXPECT_EQ(optional_duration(std::chrono::nanoseconds::max()).value(), std::chrono::nanoseconds::max());
  EXPECT_EQ(optional_duration(std::chrono::duration<double>(1e300)).value(), std::chrono::nanoseconds::max());
  EXPECT_EQ(optional_duration(std::chrono::hours(24 * 365 * 100)).value(), std::chrono::hours(24 * 365 * 100));
}

TEST(terms, a_ttl_of_10_ms_to_30_days_is_allowed) {
  for (const std::chrono::nanoseconds good :
       {std::chrono::nanoseconds(10ms), std::chrono::nanoseconds(30s), std::chrono::nanoseconds(24h * 30)})
    EXPECT_TRUE(detail::check_ttl(good));
  for (const std::chrono::nanoseconds bad :
       {std::chrono::nanoseconds(0), std::chrono::nanoseconds(-1s), 10ms - 1ns, 24h * 30 + 1ns,
        std::chrono::nanoseconds(24h * 365), std::chrono::nanoseconds::max(), std::chrono::nanoseconds::min()}) {
    const auto checked = detail::check_ttl(bad);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, errc::invalid_argument);
    EXPECT_NE(checked.error().detail.find("10 ms to 30 days"), std::string::npos);
  }
}

TEST(terms, even_the_shortest_lease_is_valid_for_a_while_and_renewed_before_it_ends) {
  const auto least = detail::least_ttl;
  EXPECT_GT(least - detail::drift_margin(least), detail::renewal_period(least));
}

TEST(back_off, grows_to_half_a_second_and_never_below_half_of_its_step) {
  for (unsigned failures : {0U, 1U, 5U, 6U, 7U, 100U, 4'000'000'000U}) {
    const std::chrono::nanoseconds whole =
        std::min<std::chrono::nanoseconds>(10ms * (1 << std::min(failures, 6U)), 500ms);
    for (int i = 0; i < 100; ++i) {
      const auto pause = detail::back_off(failures);
      EXPECT_GE(pause, whole / 2);
      EXPECT_LE(pause, whole);
    }
  }
}

TEST(back_off, is_not_the_same_for_all) {
  const auto first = detail::back_off(6);
  bool differs = false;
  for (int i = 0; i < 100 && !differs; ++i) differs = detail::back_off(6) != first;
  EXPECT_TRUE(differs);
}

TEST(histogram, quantiles_are_upper_bounds_to_a_factor_of_two) {
  detail::duration_counts counts;
  EXPECT_EQ(counts.snapshot().quantile(0.5), 0ns);
  for (int i = 1; i <= 1000; ++i) counts.record(std::chrono::microseconds(i));
  const auto h = counts.snapshot();
  EXPECT_EQ(h.count(), 1000U);
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto exact = std::chrono::microseconds(static_cast<int>(q * 1000));
    EXPECT_GE(h.quantile(q), exact) << q;
    EXPECT_LE(h.quantile(q), 2 * exact) << q;
  }
  EXPECT_LE(h.quantile(-1), h.quantile(0.01));
  EXPECT_EQ(h.quantile(2), h.quantile(1));
}

TEST(histogram, takes_the_shortest_and_the_longest) {
  detail::duration_counts counts;
  counts.record(0ns);
  counts.record(-5s);
  EXPECT_EQ(counts.snapshot().buckets[0], 2U);
  counts.record(std::chrono::nanoseconds::max());
  EXPECT_EQ(counts.snapshot().quantile(1), std::chrono::nanoseconds::max());
}

TEST(words, every_event_and_change_has_one) {
  for (const auto what : {event::kind::acquired, event::kind::released, event::kind::lost, event::kind::renewal_failed,
                          event::kind::asked_for})
    EXPECT_STRNE(to_string(what), "unknown");
  for (const auto what : {change::kind::granted, change::kind::released, change::kind::waiting, change::kind::left})
    EXPECT_STRNE(to_string(what), "unknown");
}

TEST(unique_function, is_empty_until_it_holds_something_and_after_a_move) {
  detail::unique_function<int(std::unique_ptr<int>)> f;
  EXPECT_FALSE(f);
  f = [kept = std::make_unique<int>(1)](std::unique_ptr<int> more) { return *kept + *more; };
  ASSERT_TRUE(f);
  auto moved = std::move(f);
  EXPECT_FALSE(f);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(moved(std::make_unique<int>(2)), 3);
  moved = nullptr;
  EXPECT_FALSE(moved);
}

}  // namespace
}  // namespace holdfast
