#include <holdfast/uri.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

uri parsed(std::string_view text) {
  auto u = uri::parse(text);
  EXPECT_TRUE(u) << text << ": " << (u ? "" : u.error().detail);
  return u ? *u : uri{};
}

TEST(uri, takes_apart_every_form_of_the_contract) {
  EXPECT_EQ(parsed("memory:").scheme, "memory");
  EXPECT_EQ(parsed("memory:").path, "");
  EXPECT_EQ(parsed("memory:foo").path, "foo");
  EXPECT_EQ(parsed("sqlite:///abs/path.db").path, "/abs/path.db");
  EXPECT_TRUE(parsed("sqlite:///abs/path.db").hosts.empty());
  EXPECT_EQ(parsed("file:///abs/dir").path, "/abs/dir");
  EXPECT_EQ(parsed("redis+unix:///path.sock").scheme, "redis+unix");
  EXPECT_EQ(parsed("REDIS://h").scheme, "redis");

  const auto redis = parsed("redis://user:pass%40word@host:6380/3");
  EXPECT_EQ(redis.user, "user");
  EXPECT_EQ(redis.password, "pass@word");
  ASSERT_EQ(redis.hosts.size(), 1U);
  EXPECT_EQ(redis.hosts[0].host, "host");
  EXPECT_EQ(redis.hosts[0].port, 6380);
  EXPECT_EQ(redis.path, "/3");

  const auto many = parsed("redlock://h1:1,h2:2,h3");
  ASSERT_EQ(many.hosts.size(), 3U);
  EXPECT_EQ(many.hosts[1].host, "h2");
  EXPECT_EQ(many.hosts[1].port, 2);
  EXPECT_FALSE(many.hosts[2].port);

  const auto six = parsed("etcd://[::1]:2379,[fe80::2]");
  ASSERT_EQ(six.hosts.size(), 2U);
  EXPECT_EQ(six.hosts[0].host, "::1");
  EXPECT_EQ(six.hosts[0].port, 2379);
  EXPECT_EQ(six.hosts[1].host, "fe80::2");

  const auto options = parsed("postgresql://h/db?scheme=lease&note=a%20b%26c&empty=");
  EXPECT_EQ(options.path, "/db");
  EXPECT_EQ(options.options.size(), 3U);
  EXPECT_EQ(options.options.find("note")->second, "a b&c");
  EXPECT_EQ(options.options.find("empty")->second, "");
  EXPECT_EQ(parsed("redis://:secret@h").password, "secret");
  EXPECT_EQ(parsed("redis://a@b:c@h").password, "c") << "the last @ ends the password";
}

struct malformed {
  const char* text;
  const char* names;  // what the error must mention
};

class malformed_uri : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_uri, is_refused_with_the_part_that_is_wrong) {
  const auto u = uri::parse(GetParam().text);
  ASSERT_FALSE(u) << GetParam().text;
  EXPECT_EQ(u.error().code, errc::invalid_argument);
  EXPECT_NE(u.error().detail.find(GetParam().names), std::string::npos) << GetParam().text << ": " << u.error().detail;
}

INSTANTIATE_TEST_SUITE_P(table, malformed_uri,
                         ::testing::Values(malformed{"", "scheme"}, malformed{"nothing", "scheme"},
                                           malformed{"/path/only", "scheme"}, malformed{":x", "scheme"},
                                           malformed{"1redis://h", "scheme"}, malformed{"re dis://h", "scheme"},
                                           malformed{"//h", "scheme"}, malformed{"redis://h:0", "port"},
                                           malformed{"redis://h:65536", "port"}, malformed{"redis://h:", "port"},
                                           malformed{"redis://h:12x", "port"}, malformed{"redis://h:-1", "port"},
                                           malformed{"redis://:6379", "host"}, malformed{"redis://h1,,h2", "host"},
                                           malformed{"redis://h1,", "comma"}, malformed{"redis://,h1", "host"},
                                           malformed{"redis://[::1", "]"}, malformed{"redis://[::1]x", "port"},
                                           malformed{"redis://[]:1", "host"}, malformed{"redis://u%zz@h", "user"},
                                           malformed{"redis://u:%4@h", "password"}, malformed{"redis://h%0", "host"},
                                           malformed{"redis://h/%", "path"}, malformed{"redis://h/%00", "%00"},
                                           malformed{"redis://h/\n", "control"}, malformed{"redis://h#x", "%23"},
                                           malformed{"redis://h?=x", "no name"}, malformed{"redis://h?x", "'x'"},
                                           malformed{"redis://h?a=1&a=2", "'a'"}, malformed{"redis://h?a=%", "option"},
                                           malformed{"redis://u:p@", "host"}, malformed{"redis://u:p@/0", "host"},
                                           malformed{"redis://u:12/34@h", "%2F"}, malformed{"redis://h/a@b", "%40"}));

TEST(uri, no_error_holds_the_password_even_where_it_broke_the_url) {
  for (const char* text :
       {"redis://u:hush%zz@h", "redis://u:hush/hush@h", "redis://u:hush?hush@h", "redis://u:x?hush@h:1/2",
        "redis://u:hush#hush@h", "redis://u:hush\n@h", "redis://u:hu,sh/hush@h", "redis://u:p?hush=hush&hush=hush@h"}) {
    const auto u = uri::parse(text);
    ASSERT_FALSE(u) << text;
    EXPECT_EQ(u.error().detail.find("hush"), std::string::npos) << u.error().detail;
  }
}

TEST(uri, redacted_shows_everything_but_secrets) {
  EXPECT_EQ(parsed("redis://u:hush@h:1,[::1]:2/3?x=1").redacted(), "redis://u:***@h:1,[::1]:2/3?x=1");
  EXPECT_EQ(parsed("redis://:hush@h").redacted(), "redis://:***@h");
  EXPECT_EQ(parsed("redis://u@h").redacted(), "redis://u@h");
  EXPECT_EQ(parsed("memory:x").redacted(), "memory:x");
  EXPECT_EQ(parsed("sqlite:///a/b.db").redacted(), "sqlite:///a/b.db");
  for (const char* text : {"redis://u:hush@h", "redis://h?password=hush", "redis://h?sslpassword=hush",
                           "redis://h?client_secret=hush", "redis://h?PASSWORD=hush", "redis://h?a=1&passwd=hush&z=2"})
    EXPECT_EQ(parsed(text).redacted().find("hush"), std::string::npos) << text;
}

TEST(uri, options_that_nobody_took_are_named) {
  auto u = parsed("sqlite:///x?known=1&odd=2&other=3");
  EXPECT_EQ(u.take("known"), "1");
  EXPECT_EQ(u.take("known"), std::nullopt);
  const auto left = u.expect_no_more_options("known");
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, errc::invalid_argument);
  for (const char* part : {"'odd'", "'other'", "known"})
    EXPECT_NE(left.error().detail.find(part), std::string::npos) << left.error().detail;
  u.take("odd");
  u.take("other");
  EXPECT_TRUE(u.expect_no_more_options("known"));
}

TEST(parse_duration, reads_numbers_with_units) {
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("10s").value(), 10s);
  EXPECT_EQ(parse_duration("5m").value(), 5min);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(parse_duration("0s").value(), 0s);
  EXPECT_EQ(parse_duration("-3s").value(), -3s) << "whether a negative one is allowed is for the option to say";
}

TEST(parse_duration, refuses_everything_else_and_says_what_would_be_right) {
  for (const char* text : {"", "s", "10", "10 s", " 10s", "10s ", "10S", "ten", "10d", "1e3s", "nans", "infs", "+5s",
                           "10ss", "0x10s", "99999999999h", "-99999999999h", "1,5s", "ms"}) {
    const auto d = parse_duration(text);
    ASSERT_FALSE(d) << text;
    EXPECT_EQ(d.error().code, errc::invalid_argument);
    EXPECT_NE(d.error().detail.find("250ms"), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast
