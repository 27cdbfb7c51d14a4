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

TEST(redis_urls, rediss_is_tls_with_verification) {
  const testing::temporary_directory directory;
  const auto file = (directory.path() / "some.pem").string();
  std::ofstream(file) << "certificate";
  EXPECT_FALSE(parse("redis://h").value().tls);
  const auto plain = parse("rediss://h:1/2").value();
  ASSERT_TRUE(plain.tls);
  EXPECT_EQ(plain.tls->verify, tls_settings::verification::on);
  EXPECT_EQ(plain.database, 2u);
  const auto s = parse("rediss://h?ca-file=" + file + "&ca-dir=" + directory.path().string() + "&cert-file=" + file +
                       "&key-file=" + file + "&server-name=cache.example&verify=off")
                     .value();
  EXPECT_EQ(s.tls->ca_file, file);
  EXPECT_EQ(s.tls->ca_dir, directory.path().string());
  EXPECT_EQ(s.tls->cert_file, file);
  EXPECT_EQ(s.tls->key_file, file);
  EXPECT_EQ(s.tls->server_name, "cache.example");
  EXPECT_EQ(s.tls->verify, tls_settings::verification::off);
}

TEST(redis_urls, sentinels_have_their_master_and_their_own_password) {
  const testing::temporary_directory directory;
  const auto file = (directory.path() / "secret").string();
  std::ofstream(file) << "theirs\n";
  const auto s = parse(
                     "redis+sentinel://app:ours@a,b:7000/mymaster/3?tls=on&verify=off&sentinel-user=watch&"
                     "sentinel-password-file=" +
                     file)
                     .value();
  EXPECT_EQ(s.whom, settings::role::master);
  EXPECT_EQ(s.master, "mymaster");
  EXPECT_EQ(s.database, 3u);
  EXPECT_EQ(s.password, "ours");
  EXPECT_EQ(s.sentinel_user, "watch");
  EXPECT_EQ(s.sentinel_password, "theirs");
  EXPECT_TRUE(s.tls);
  const std::vector<sentinel_list::address> both{{"a", "26379"}, {"b", "7000"}};
  EXPECT_EQ(s.sentinels->all(), both);
  EXPECT_EQ(s.shown(), "master 'mymaster'");
  EXPECT_EQ(parse("redis+sentinel://c,d,e/mymaster/3").value().shown(), s.shown()) << "whoever is named";
  EXPECT_EQ(parse("redis+sentinel://a/mymaster").value().database, 0u);
}

TEST(redis_sentinel_list, who_answers_comes_first_and_who_is_silent_last) {
  const sentinel_list::address a{"a", "1"};
  const sentinel_list::address b{"b", "1"};
  const sentinel_list::address c{"c", "1"};
  using list = std::vector<sentinel_list::address>;
  sentinel_list all({a, b});
  all.learn({b, c, a});
  EXPECT_EQ(all.all(), (list{a, b, c}));
  all.answered(c);
  EXPECT_EQ(all.all(), (list{c, a, b}));
  all.silent(c);
  EXPECT_EQ(all.all(), (list{a, b, c}));
  for (int i = 0; i < 100; ++i) all.learn({{"more", std::to_string(i)}});
  EXPECT_EQ(all.all().size(), 18u);
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
               {"redis://h?ca-file=/x", "rediss:"},
               {"redis://h?verify=off", "rediss:"},
               {"redis://h?tls=on", "tls"},
               {"rediss://h?ca-file=/nowhere/at/all", "ca-file '/nowhere/at/all'"},
               {"rediss://h?cert-file=/dev/null", "without its key-file"},
               {"rediss://h?key-file=/dev/null", "without its cert-file"},
               {"rediss://h?verify=maybe", "verify"},
               {"rediss://h?server-name=", "server-name"},
               {"rediss://a,b", "one host"},
               {"redis+sentinel:", "sentinels"},
               {"redis+sentinel://a,b", "name of the master"},
               {"redis+sentinel://a,b/", "name of the master"},
               {"redis+sentinel://a/m/x", "database"},
               {"redis+sentinel://a/m?tls=yes", "tls"},
               {"redis+sentinel://a/m?verify=off", "tls=on"},
               {"redis+sentinel://a/m?sentinel-user=u", "sentinel-password-file"},
               {"redis+sentinel://a/m?sentinel-password-file=/nowhere", "sentinel-password-file '/nowhere'"},
               {"redis+sentinel://a/m?bogus=1", "sentinel-user"},
               {"redis://h?layout=flat", "layout"},
               {"redis://h?prefix=x", "layout=plain"},
               {"redis://h?layout=plain&tokens=redisson", "tokens"},
               {"redis://h?replicas=-1", "replicas"},
               {"redis://h?replicas=many", "replicas"},
               {"redis://h?replicas-timeout=1s", "without replicas"},
               {"redis://h?replicas=1&replicas-timeout=1", "replicas-timeout"},
               {"redis://h?pubsub=plain", "pubsub"},
               {"redis+cluster:", "at least one node"},
               {"redis+cluster://h/0", "no database number"},
               {"redis+cluster://h?layout=plain", "layout=plain"},
               {"redis+cluster://h?replicas=1", "replicas"},
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

TEST(redlock_urls, every_server_gets_its_own_settings) {
  const auto all = settings::each_from(uri::parse("redlock://:p@a,b:7000,[::1]/2?restarted=vote").value()).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].shown(), "a:6379");
  EXPECT_EQ(all[1].shown(), "b:7000");
  EXPECT_EQ(all[2].shown(), "[::1]:6379");
  for (const auto& one : all) {
    EXPECT_EQ(one.password, "p");
    EXPECT_EQ(one.database, 2U);
    EXPECT_EQ(one.tokens, token_source::quorum);
    EXPECT_EQ(one.restarted, restarted_nodes::vote);
  }
}

TEST(redlock_urls, what_is_wrong_is_named) {
  const struct {
    const char* url;
    const char* names;
  } table[] = {{"redlock://a", "three"},
               {"redlock://a,b", "three"},
               {"redlock://a,b,a:6379", "a:6379 is named twice"},
               {"redlock://a,b,c/x", "database"},
               {"redlock://a,b,c?restarted=maybe", "restarted"},
               {"redlock://a,b,c?tokens=redisson", "tokens"},
               {"redlock://user@a,b,c", "password"}};
  for (const auto& row : table) {
    const auto got = settings::each_from(uri::parse(row.url).value());
    ASSERT_TRUE(testing::failed(errc::invalid_argument, got)) << row.url;
    EXPECT_NE(got.error().detail.find(row.names), std::string::npos) << got.error().detail;
  }
}

}  // namespace holdfast::redis
