#include "record.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::memcached {

TEST(memcached_record, comes_back_as_it_was_written) {
  record out;
  out.kind = spi::kind::permits;
  out.limit = 5;
  out.lifetime = 31;
  out.name = "a name/ü %20";
  for (const std::uint64_t token : {std::uint64_t{0}, std::uint64_t{1} << 52}) {
    holder one;
    one.id = std::string(32, 'a');
    one.permits = 2;
    one.token = token;
    one.ttl = 30'000;
    one.ends = 1'794'834'502;
    one.since = 17;
    one.until = 18;
    one.pid = 4711;
    one.host = "host";
    one.client_name = "a\tclient\nwith all\x7f";
    out.holders.push_back(one);
  }
  auto in = record::decoded(out.encoded());
  ASSERT_TRUE(in);
  EXPECT_EQ(in->name, out.name);
  EXPECT_EQ(in->kind, out.kind);
  EXPECT_EQ(in->limit, 5u);
  EXPECT_EQ(in->lifetime, 31);
  EXPECT_EQ(in->taken(), 4u);
  ASSERT_EQ(in->holders.size(), 2u);
  EXPECT_EQ(in->holders[1].token, std::uint64_t{1} << 52);
  EXPECT_EQ(in->holders[1].ends, 1'794'834'502);
  EXPECT_EQ(in->holders[1].pid, 4711);
  EXPECT_EQ(in->holders[1].client_name, "a client with all ");
  EXPECT_NE(in->find(std::string(32, 'a')), nullptr);
  EXPECT_EQ(in->find(std::string(32, 'b')), nullptr);
}

TEST(memcached_record, what_others_wrote_is_none) {
  record good;
  good.name = "n";
  good.holders.push_back({.id = std::string(32, 'a'), .host = "h", .client_name = "c"});
  const std::string text = good.encoded();
  EXPECT_TRUE(record::decoded(text));
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const auto part = record::decoded(text.substr(0, cut));
    EXPECT_TRUE(!part || part->holders.empty()) << cut;
  }
  for (const char* other : {"", "1", "holdfast/2 1 1 1\nn\n", "holdfast/1 9 1 1\nn\n", "holdfast/1 1 1 x\nn\n"})
    EXPECT_FALSE(record::decoded(other)) << other;
  EXPECT_FALSE(record::decoded(text + "x\n"));
}

TEST(memcached_record, times_that_cannot_be_reckoned_with_are_none_of_ours) {
  record good;
  good.name = "m";
  good.holders.push_back({});
  good.holders.back().id = std::string(32, 'a');
  ASSERT_TRUE(record::decoded(good.encoded()));
  for (const std::int64_t odd : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    for (const auto field : {&holder::ttl, &holder::ends, &holder::since, &holder::until}) {
      record forged = good;
      forged.holders.back().*field = odd;
      EXPECT_FALSE(record::decoded(forged.encoded())) << odd;
    }
    record forged = good;
    forged.lifetime = odd;
    EXPECT_FALSE(record::decoded(forged.encoded())) << odd;
  }
  good.holders.back().permits = 0;
  EXPECT_FALSE(record::decoded(good.encoded()));
}

}  // namespace holdfast::memcached
