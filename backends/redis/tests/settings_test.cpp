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

TEST(redis_urls, the_layout_and_its_prefix_are_read) {
  const auto s = parse("redis://h?layout=plain&prefix=redlock%3A").value();
  EXPECT_EQ(s.layout, key_layout::plain);
  EXPECT_EQ(s.prefix, "redlock:");
  EXPECT_EQ(parse("redis://h?layout=redisson").value().layout, key_layout::redisson);
}

TEST(redis_urls, replicas_and_their_time_are_read) {
  const auto s = parse("redis://h?replicas=2&replicas-timeout=250ms").value();
  EXPECT_EQ(s.replicas, 2u);
  EXPECT_EQ(s.replicas_timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(parse("redis://h?replicas=1").value().replicas_timeout, std::chrono::seconds(1));
  EXPECT_EQ(parse("redis://h").value().replicas, 0u);
}

TEST(redis_urls, a_socket_has_its_path_and_database) {
  const auto s = parse("redis+unix:///run/redis.sock?db=2").value();
  EXPECT_EQ(s.socket, "/run/redis.sock");
  EXPECT_EQ(s.database, 2u);
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
               {"redis://h?layout=flat", "layout"},
               {"redis://h?prefix=x", "layout=plain"},
               {"redis://h?layout=plain&tokens=redisson", "tokens"},
               {"redis://h?replicas=-1", "replicas"},
               {"redis://h?replicas=many", "replicas"},
               {"redis://h?replicas-timeout=1s", "without replicas"},
               {"redis://h?replicas=1&replicas-timeout=1", "replicas-timeout"},
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
