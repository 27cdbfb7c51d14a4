#include "tickets.hpp"

#include <gtest/gtest.h>

namespace holdfast::memcached {

namespace {

spi::claim somebody() {
  spi::claim one;
  one.name = "m";
  one.id = spi::owner_id::random();
  return one;
}

}  // namespace

TEST(memcached_tickets, who_becomes_the_first_looks_at_once) {
  tickets line;
  const auto first = somebody();
  const auto second = somebody();
  const auto third = somebody();
  for (const auto& one : {first, second, third}) line.missed(one, {});
  int second_woken = 0;
  int third_woken = 0;
  line.watch(second, [&](const result<spi::wake>&) { ++second_woken; });
  line.watch(third, [&](const result<spi::wake>&) { ++third_woken; });
  EXPECT_TRUE(line.close(first.id));
  EXPECT_EQ(second_woken, 1) << "it would look as seldom as one behind";
  EXPECT_EQ(third_woken, 0);
}

}  // namespace holdfast::memcached
