#include "settings.hpp"

#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace holdfast::redis {

namespace {

result<settings> parse(const std::string& url) {
  auto where = uri::parse(url);
  if (!where) return where.error();
  return settings::from(std::move(*where));
}

}  // namespace

TEST(redis_urls, every_part_is_read) {
  const auto s = parse("redis://app:p%40ss@cache.example:7000/3?tokens=redisson").value();
  EXPECT_EQ(s.host, "cache.example");
  EXPECT_EQ(s.port, "7000");
  EXPECT_EQ(s.user, "app");
  EXPECT_EQ(s.password, "p@ss");
  EXPECT_EQ(s.database, 3u);
  EXPECT_EQ(s.tokens, token_source::redisson);
  EXPECT_EQ(s.shown(), "cache.example:7000");
}

TEST(redis_urls, what_is_left_out_has_the_usual_value) {
  const auto s = parse("redis://[::1]").value();
  EXPECT_EQ(s.port, "6379");
  EXPECT_EQ(s.database, 0u);
  EXPECT_EQ(s.tokens, token_source::hybrid);
  EXPECT_EQ(s.shown(), "[::1]:6379");
}

TEST(redis_urls, a_socket_has_its_path_and_database) {
  const auto s = parse("redis+unix:///run/redis.sock?db=2").value();
  EXPECT_EQ(s.socket, "/run/redis.sock");
  EXPECT_EQ(s.database, 2u);
}

TEST(redis_urls, a_cluster_has_its_seeds_and_no_database) {
  const auto s = parse("redis+cluster://app:secret@one:7000,two,[::1]:7002?pubsub=both").value();
  EXPECT_EQ(s.seeds, (std::vector<node_address>{{"one", "7000"}, {"two", "6379"}, {"::1", "7002"}}));
  EXPECT_EQ(s.user, "app");
  EXPECT_EQ(s.pubsub, publishing::both);
  EXPECT_EQ(parse("redis+cluster://h").value().pubsub, publishing::automatic);
  EXPECT_EQ(parse("redis+cluster://h?pubsub=plain").value().pubsub, publishing::plain);
  EXPECT_EQ(parse("redis+cluster://h?pubsub=sharded").value().pubsub, publishing::sharded);
  EXPECT_TRUE(parse("redis://h").value().seeds.empty());
}

TEST(redis_urls, the_password_may_be_in_a_file) {
  const testing::temporary_directory directory;
  const auto file = directory.path() / "secret";
  std::ofstream(file) << "first line\nsecond\n";
  EXPECT_EQ(parse("redis://h?password-file=" + file.string()).value().password, "first line");
  EXPECT_TRUE(testing::failed(errc::invalid_argument, parse("redis://:x@h?password-file=" + file.string())));
  EXPECT_TRUE(testing::failed(errc::invalid_argument, parse("redis://h?password-file=/nowhere/at/all")));
}

TEST(redis_urls, what_is_wrong_is_named) {
  const struct {
    const char* url;
    const char* names;
  } table[] = {{"redis:", "host"},
               {"redis://a,b", "one host"},
               {"redis://h/x", "database"},
               {"redis://h/-1", "database"},
               {"redis://h?bogus=1", "bogus"},
               {"redis://h?tokens=some", "tokens"},
               {"redis://user@h", "password"},
               {"redis://h?pubsub=plain", "pubsub"},
               {"redis+cluster:", "at least one node"},
               {"redis+cluster://h/0", "no database number"},
               {"redis+cluster://h?pubsub=loud", "pubsub"},
               {"redis+unix:", "absolute path"},
               {"redis+unix://host/path", "no host"},
               {"redis+unix:///s?db=x", "database"}};
  for (const auto& row : table) {
    const auto got = parse(row.url);
    ASSERT_TRUE(testing::failed(errc::invalid_argument, got)) << row.url;
    EXPECT_NE(got.error().detail.find(row.names), std::string::npos) << got.error().detail;
  }
}

}  // namespace holdfast::redis
