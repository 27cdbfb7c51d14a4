#include "keys.hpp"

#include "script.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace holdfast::redis {

TEST(keys, stand_in_the_slot_of_the_name_as_redissons_do) {
  const auto plain = lock_keys("my");
  EXPECT_EQ(plain[0], "my");
  EXPECT_EQ(plain[5], "redisson_lock_token:{my}");
  EXPECT_EQ(plain[6], "redisson_lock_queue:{my}");
  EXPECT_EQ(plain[7], "redisson_lock_timeout:{my}");
  EXPECT_EQ(plain[8], "{my}:timeout");
  const auto tagged = lock_keys("a{b}c");
  EXPECT_EQ(tagged[5], "redisson_lock_token:a{b}c");
  EXPECT_EQ(tagged[8], "a{b}c:timeout");
}

TEST(keys, channels_are_redissons) {
  EXPECT_EQ(public_channel(spi::kind::mutex, "my"), "redisson_lock__channel:{my}");
  EXPECT_EQ(public_channel(spi::kind::shared_mutex, "my"), "redisson_rwlock:{my}");
  EXPECT_EQ(public_channel(spi::kind::permits, "my"), "redisson_sc:{my}");
  EXPECT_EQ(public_channel(spi::kind::semaphore, "my"), "redisson_sc:{my}");
  EXPECT_EQ(public_channel(spi::kind::latch, "my"), "redisson_countdownlatch__channel__{my}");
  EXPECT_EQ(public_channel(spi::kind::latch, "{t}my"), "redisson_countdownlatch__channel__{{t}my}");
}

TEST(keys, our_own_lead_back_to_the_name) {
  for (const std::string& name : std::vector<std::string>{"a", "{a}", "a}", "{", "}", "::", "a:b", "{a}b{c}", " "}) {
    EXPECT_EQ(name_of(own_key("held", name)), name);
    EXPECT_EQ(name_of(own_key("wait", name)), name);
  }
  EXPECT_NE(own_key("held", "a"), own_key("held", "{a}"));
  EXPECT_EQ(name_of("holdfast_cell:{a}"), std::nullopt);
  EXPECT_EQ(name_of("holdfast_held:"), std::nullopt);
  EXPECT_EQ(name_of("holdfast_held:a"), std::nullopt);
}

TEST(keys, patterns_take_the_prefix_literally) {
  EXPECT_EQ(name_pattern("a*[b]?\\"), "a\\*\\[b\\]\\?\\\\*");
  EXPECT_EQ(own_key_patterns("held", "{a").size(), 1u);
  EXPECT_EQ(own_key_patterns("held", "a").size(), 2u);
}

TEST(keys, clients_and_owners_are_spelt_as_redisson_spells_them) {
  const std::string uuid = random_uuid();
  EXPECT_TRUE(
      std::regex_match(uuid, std::regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")));
  spi::owner_id id;
  id.bytes.fill(0xff);
  EXPECT_EQ(owner_of(uuid, id), uuid + ":9223372036854775807");
}

TEST(scripts, are_known_by_their_sha1) {
  EXPECT_EQ(sha1(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

}  // namespace holdfast::redis
