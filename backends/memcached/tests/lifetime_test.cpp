#include "lifetime.hpp"

#include <gtest/gtest.h>

namespace holdfast::memcached {

using namespace std::chrono_literals;

namespace {

/// When an item is gone that is made at `made`, by a clock that was set last at `tick` and is set every `step`.
/// Milliseconds.
std::int64_t end_of(std::int64_t made, std::int64_t tick, std::int64_t step, std::int64_t lifetime) {
  const auto ends = tick / 1000 + lifetime;
  while (tick / 1000 < ends) tick += step;
  return std::max(made, tick);
}

}  // namespace

TEST(memcached_lifetime, an_item_outlives_its_ttl_wherever_the_ticks_of_the_server_fall) {
  for (const auto ttl : {1ms, 900ms, 1000ms, 1001ms, 30'000ms}) {
    for (std::int64_t tick = 10'000; tick < 11'000; ++tick) {
      const std::int64_t step = 1001;  // late by a millisecond: the clock goes from 10 to 12 over the turn of a second
      const auto made = tick + step - 1;
      const auto gone = end_of(made, tick, step, lifetime_for(ttl));
      ASSERT_GE(gone - made, ttl.count()) << "ticks at " << tick;
    }
  }
}

TEST(memcached_lifetime, what_is_found_to_be_left_is_left_wherever_the_ticks_fall) {
  for (std::int64_t tick = 10'000; tick < 11'000; ++tick) {
    const auto seen = tick + 1000;
    ASSERT_GE(std::chrono::milliseconds(end_of(seen, tick, 1001, 5) - seen), sure_of(5)) << "ticks at " << tick;
  }
  EXPECT_EQ(sure_of(1), 0ns);
}

TEST(memcached_lifetime, none_is_longer_than_the_server_takes_and_the_lease_is_shorter) {
  EXPECT_EQ(lifetime_for(24h * 365), longest_lifetime);
  EXPECT_EQ(lifetime_for(std::chrono::nanoseconds::max()), longest_lifetime);
  EXPECT_LE(kept(24h * 365), std::chrono::seconds(longest_lifetime - 2));
  EXPECT_EQ(kept(30s), 30s);
}

}  // namespace holdfast::memcached
