#include "doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

using level = finding::level;

std::string answer(const std::string& version, const std::string& mode) {
  return "Zookeeper version: " + version + ", built on 2024-10-17\nMode: " + mode + "\n";
}

symptoms healthy() {
  symptoms s;
  s.servers = {{"a:1", answer("3.9.3-c26634f3", "follower")},
               {"b:1", answer("3.9.3-c26634f3", "leader")},
               {"c:1", answer("3.9.3-c26634f3", "follower")}};
  s.members = "server.1=a:1:2:participant\nserver.2=b:1:2:participant\nserver.3=c:1:2:participant\nversion=0";
  s.asked = s.granted = 30s;
  s.write = 3ms;
  return s;
}

bool says(const symptoms& s, level how, const std::string& what, const settings& where = {}) {
  const auto all = judge_health(s, where);
  return std::any_of(all.begin(), all.end(),
                     [&](const finding& f) { return f.how == how && f.text.find(what) != f.text.npos; });
}

}  // namespace

TEST(zookeeper_doctor, a_healthy_ensemble_gives_no_cause_for_concern) {
  for (const auto& one : judge_health(healthy(), {})) EXPECT_EQ(one.how, level::fact) << one.text;
  EXPECT_TRUE(says(healthy(), level::fact, "3 members: 1 may be lost"));
  EXPECT_TRUE(says(healthy(), level::fact, "b:1 is leader"));
}

TEST(zookeeper_doctor, versions_with_defects_are_named) {
  symptoms s = healthy();
  s.servers[1].srvr = answer("3.8.0--1", "leader");
  EXPECT_TRUE(says(s, level::warning, "ZOOKEEPER-4712"));
  EXPECT_TRUE(says(s, level::fact, "version 3.9.3")) << "the others";
  s.servers[1].srvr = answer("3.5.3-beta", "leader");
  EXPECT_TRUE(says(s, level::danger, "ZOOKEEPER-2355"));
  s.servers[1].srvr = answer("3.4.14-x", "leader");
  EXPECT_TRUE(says(s, level::danger, "too old"));
  for (auto& one : s.servers) one.srvr.reset();
  EXPECT_TRUE(says(s, level::warning, "version: cannot tell"));
}

TEST(zookeeper_doctor, servers_that_do_not_serve_are_named) {
  symptoms s = healthy();
  s.servers[0].srvr.reset();
  EXPECT_TRUE(says(s, level::warning, "a:1 does not answer"));
  EXPECT_TRUE(says(s, level::danger, "of 3 servers 2 serve: the loss of one more stops all"));
  s.servers[0].srvr = "This ZooKeeper instance is not currently serving requests\n";
  EXPECT_TRUE(says(s, level::warning, "a:1 does not serve"));
  s.servers[0].srvr = answer("3.9.3", "leader");
  EXPECT_TRUE(says(s, level::warning, "2 servers say that they lead"));
  s.servers.pop_back();
  EXPECT_TRUE(says(s, level::fact, "names 2 of 3 members"));
}

TEST(zookeeper_doctor, too_few_members_are_named) {
  symptoms s = healthy();
  s.members = "";
  EXPECT_TRUE(says(s, level::warning, "a single server"));
  s.members = "server.1=a\nserver.2=b\n";
  EXPECT_TRUE(says(s, level::warning, "2 members"));
  s.members = "server.1=a\nserver.2=b\nserver.3=c\nserver.4=d:1:2:observer\n";
  EXPECT_TRUE(says(s, level::fact, "3 members")) << "observers have no vote";
}

TEST(zookeeper_doctor, settings_that_endanger_locks_are_named) {
  symptoms s = healthy();
  s.granted = 40s;
  EXPECT_TRUE(says(s, level::warning, "40000 ms, though 30000 ms"));
  s.write = 500ms;
  EXPECT_TRUE(says(s, level::warning, "500 ms"));
  s.forbidden = "the user lacks a right";
  EXPECT_TRUE(says(s, level::danger, "lacks a right"));
  settings where;
  where.user = "me";
  where.servers = "far:2181";
  EXPECT_TRUE(says(s, level::warning, "without TLS", where));
  where.servers = "127.0.0.1:2181";
  EXPECT_FALSE(says(s, level::warning, "without TLS", where));
}

}  // namespace holdfast::zookeeper
