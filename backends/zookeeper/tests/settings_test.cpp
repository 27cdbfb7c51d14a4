#include "settings.hpp"
#include "badge.hpp"
#include "count_record.hpp"

#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

result<settings> read(const std::string& url) { return settings::from(*uri::parse(url)); }

}  // namespace

TEST(zookeeper_settings, servers_and_chroot) {
  const auto one = read("zk://b.example:2182,a.example/app/locks/");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->servers, "a.example:2181,b.example:2182") << "one store, one name";
  EXPECT_EQ(one->root, "/app/locks");
  EXPECT_EQ(read("zk://h")->root, "");
  EXPECT_EQ(read("zk://[::1]:99")->servers, "[::1]:99");
}

TEST(zookeeper_settings, user_and_password) {
  const auto one = read("zk://me:secret@h/x?acl=creator");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->user, "me");
  EXPECT_EQ(one->password, "secret");
  EXPECT_EQ(one->acl, access_list::creator);
  EXPECT_EQ(one->shown().find("secret"), std::string::npos);
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "password").string();
  std::ofstream(file) << "hidden\r\n";
  EXPECT_EQ(read("zk://me@h?password-file=" + file)->password, "hidden");
}

TEST(zookeeper_settings, what_is_wrong_is_named) {
  const auto expect_wrong = [](const std::string& url, const std::string& part) {
    const auto one = read(url);
    ASSERT_FALSE(one) << url;
    EXPECT_EQ(one.error().code, errc::invalid_argument);
    EXPECT_NE(one.error().detail.find(part), std::string::npos) << one.error().detail;
    EXPECT_EQ(one.error().detail.find("secret"), std::string::npos) << one.error().detail;
  };
  expect_wrong("zk:///path", "needs a server");
  expect_wrong("zk://h/a//b", "/a//b");
  expect_wrong("zk://h/a/../b", "'..'");
  expect_wrong("zk://h/zookeeper", "/zookeeper");
  expect_wrong("zk://me@h", "password");
  expect_wrong("zk://me:secret@h?acl=nobody", "acl='nobody'");
  expect_wrong("zk://h?acl=creator", "acl=creator needs a user");
  expect_wrong("zk://h?parents=none", "parents='none'");
  expect_wrong("zk://me:secret@h?bogus=1", "bogus");
  expect_wrong("zk://me:secret@h?password-file=/x", "password-file");
}

TEST(zookeeper_badge, what_a_node_says_comes_back) {
  spi::claim claim;
  claim.kind = spi::kind::permits;
  claim.ttl = 30s;
  claim.permits = 2;
  claim.limit = 5;
  const badge b = badge::read(badge::of({"web 1", 77, "billing limit=9 x"}, claim).text());
  EXPECT_EQ(b.pid, 77);
  EXPECT_EQ(b.ttl, 30s);
  EXPECT_EQ(b.permits, 2u);
  EXPECT_EQ(b.limit, 5u);
  EXPECT_EQ(b.host, "web_1");
  EXPECT_EQ(b.client_name, "billing limit=9 x");
}

TEST(zookeeper_badge, what_others_write_is_their_host) {
  EXPECT_EQ(badge::read("10.0.0.7").host, "10.0.0.7");
  EXPECT_EQ(badge::read("").pid, 0);
  EXPECT_EQ(badge::read("holdfast pid=1 ttl=9223372036854775807 name=x").ttl, 24h * 30) << "it does not overflow";
  EXPECT_EQ(badge::read(std::string(1000, 'x')).host.size(), 64u);
}

TEST(zookeeper_count_record, it_comes_back_with_what_it_remembers) {
  count_record r;
  r.value = -3;
  r.set = true;
  const auto id = spi::owner_id::random();
  r.remember({id, 2, {false, -9}});
  const auto back = count_record::read(r.text());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->value, -3);
  EXPECT_TRUE(back->set);
  ASSERT_EQ(back->recent.size(), 1u);
  EXPECT_EQ(back->recent[0].id, id);
  EXPECT_EQ(back->recent[0].taken, 2u);
  EXPECT_FALSE(back->recent[0].reply.done);
  EXPECT_EQ(back->recent[0].reply.value, -9);
  for (int i = 0; i < 100; ++i) r.remember({spi::owner_id::random(), 0, {}});
  EXPECT_EQ(r.recent.size(), 64u);
}

TEST(zookeeper_count_record, what_is_none_is_not_read) {
  for (const char* text : {"", "semaphore", "semaphore x set", "lock 3 set", "latch 1 set\nxyz 0 1 0"})
    EXPECT_FALSE(count_record::read(text)) << text;
}

}  // namespace holdfast::zookeeper
