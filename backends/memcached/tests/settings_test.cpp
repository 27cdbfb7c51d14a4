#include "settings.hpp"

#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace holdfast::memcached {

namespace {

result<settings> read(const std::string& url) {
  auto parsed = uri::parse(url);
  if (!parsed) return parsed.error();
  return settings::from(std::move(*parsed));
}

}  // namespace

TEST(memcached_settings, hosts_ports_and_logins_are_read) {
  const auto all = read("memcached://u:p%40w@h1,h2:7,[::1]:8");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->servers.size(), 3u);
  EXPECT_EQ(all->servers[0].shown(), "h1:11211");
  EXPECT_EQ(all->servers[1].shown(), "h2:7");
  EXPECT_EQ(all->servers[2].shown(), "[::1]:8");
  EXPECT_EQ(all->user, "u");
  EXPECT_EQ(all->password, "p@w");
  EXPECT_EQ(all->shown(), read("memcached://u:p@[::1]:8,h2:7,h1")->shown()) << "in any order";
}

TEST(memcached_settings, a_password_may_be_in_a_file) {
  const testing::temporary_directory directory;
  const auto file = directory.path() / "secret";
  std::ofstream(file) << "word\r\n";
  const auto read_it = read("memcached://u@h?password-file=" + file.string());
  ASSERT_TRUE(read_it);
  EXPECT_EQ(read_it->password, "word");
}

TEST(memcached_settings, what_is_wrong_is_named) {
  const std::pair<const char*, const char*> cases[] = {
      {"memcached:", "needs a host"},
      {"memcached://h/3", "'/3'"},
      {"memcached://h,h:11211", "twice"},
      {"memcached://u@h", "user without a password"},
      {"memcached://:p@h", "password without a user"},
      {"memcached://u%20v:p@h", "space"},
      {"memcached://u:p%0aq@h", "control character"},
      {"memcached://u:p%20q@h", "space"},
      {"memcached://h?password-file=/nowhere/at/all", "/nowhere/at/all"},
      {"memcached://u:p@h?password-file=/etc/hostname", "password-file"},
      {"memcached://h?ttl=3", "ttl"},
  };
  for (const auto& [url, part] : cases) {
    const auto outcome = read(url);
    ASSERT_FALSE(outcome) << url;
    EXPECT_EQ(outcome.error().code, errc::invalid_argument) << url;
    EXPECT_NE(outcome.error().detail.find(part), std::string::npos) << url << ": " << outcome.error().detail;
  }
}

}  // namespace holdfast::memcached
