#include "memcached_error.hpp"

#include <gtest/gtest.h>

namespace holdfast::memcached {

TEST(memcached_error, every_answer_has_its_meaning) {
  const std::pair<const char*, errc> cases[] = {
      {"CLIENT_ERROR unauthenticated", errc::rejected},
      {"CLIENT_ERROR authentication failure", errc::rejected},
      {"SERVER_ERROR out of memory storing object", errc::rejected},
      {"SERVER_ERROR object too large for cache", errc::rejected},
      {"BUSY currently processing crawler request", errc::unavailable},
      {"ERROR metadump not allowed", errc::unsupported},
      {"CLIENT_ERROR lru crawler disabled", errc::unsupported},
      {"ERROR Too many open connections", errc::unavailable},
      {"ERROR", errc::unsupported},
      {"SERVER_ERROR something else", errc::unavailable},
      {"CLIENT_ERROR something else", errc::rejected},
  };
  for (const auto& [text, code] : cases) {
    EXPECT_EQ(failure_of(text).code, code) << text;
    EXPECT_FALSE(failure_of(text).detail.empty()) << text;
  }
}

TEST(memcached_error, only_a_failed_server_keeps_in_step) {
  EXPECT_TRUE(keeps_in_step("SERVER_ERROR out of memory storing object"));
  EXPECT_FALSE(keeps_in_step("CLIENT_ERROR bad data chunk"));
  EXPECT_FALSE(keeps_in_step("ERROR"));
}

}  // namespace holdfast::memcached
