#include "record.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {

TEST(etcd_record, comes_back_as_it_went) {
  spi::claim claim;
  claim.id = spi::owner_id::random();
  claim.permits = 3;
  claim.limit = 7;
  claim.ttl = std::chrono::seconds(9);
  record made = record::of(claim, {"host", 42, "a\tclient\nname"});
  made.token = 1234;
  const auto back = record::parse(made.text());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->id, claim.id.hex());
  EXPECT_EQ(back->permits, 3u);
  EXPECT_EQ(back->limit, 7u);
  EXPECT_EQ(back->ttl, std::chrono::seconds(9));
  EXPECT_EQ(back->token, 1234u);
  EXPECT_EQ(back->pid, 42);
  EXPECT_EQ(back->host, "host");
  EXPECT_EQ(back->client_name, "a client name") << "what separates fields is in none";
}

TEST(etcd_record, what_is_not_ours_is_none) {
  EXPECT_FALSE(record::parse(""));
  EXPECT_FALSE(record::parse("proposal"));
  EXPECT_FALSE(record::parse("holdfast"));
  EXPECT_FALSE(record::parse("holdfast\tid=short"));
  EXPECT_FALSE(record::parse("holdfastid=00000000000000000000000000000000"));
  EXPECT_FALSE(record::parse("holdfast\tid=00000000000000000000000000000000\tpermits=x"));
  EXPECT_TRUE(record::parse("holdfast\tid=00000000000000000000000000000000\tnew=field"));
}

}  // namespace holdfast::etcd
