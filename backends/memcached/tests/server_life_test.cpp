#include "greeting.hpp"

#include <gtest/gtest.h>

namespace holdfast::memcached {

TEST(memcached_server_life, servers_of_the_same_second_are_told_apart_and_their_tokens_do_not_say_so) {
  const auto one = server_life::era(1'790'000'000, 0x123456789);
  const auto other = server_life::era(1'790'000'000, 0x987654321);
  EXPECT_NE(one, other);
  EXPECT_EQ(server_life::token(one, 7), server_life::token(other, 7));
  EXPECT_GT(server_life::token(one, 8), server_life::token(other, 7));
  EXPECT_GT(server_life::token(server_life::era(1'790'000'001, 0), 1), server_life::token(one, 200'000));
  EXPECT_LT(server_life::token(one, 200'000), std::uint64_t{1} << 53);
}

}  // namespace holdfast::memcached
