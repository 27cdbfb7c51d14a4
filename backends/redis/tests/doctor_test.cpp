#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

// Servers that are set up badly on purpose, each in one way.

namespace holdfast::testing {

using namespace std::chrono_literals;
using level = finding::level;

namespace {

std::string all_text(const std::vector<finding>& found) {
  std::string text;
  for (const auto& one : found) text += std::string(to_string(one.how)) + ": " + one.text + "\n";
  return text;
}

::testing::AssertionResult found(level how, const std::string& words, const std::string& url) {
  const auto all = connect(url).examine();
  for (const auto& one : all)
    if (one.how == how && one.text.find(words) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "no " << to_string(how) << " with '" << words << "' in\n" << all_text(all);
}

std::string url_of(const redis_server& server, const std::string& user) {
  return "redis://" + user + ":secret@127.0.0.1:" + std::to_string(server.port());
}

/// A user that may do what docs/stores/redis.md says, and then `changes`.
void add_user(const redis_server& server, std::vector<std::string> changes) {
  std::vector<std::string> words{"ACL",           "SETUSER",     "app",         "on",       ">secret",     "~*",
                                 "resetchannels", "&holdfast_*", "&redisson_*", "-@all",    "+@hash",      "+@string",
                                 "+@list",        "+@sortedset", "+@keyspace",  "+@pubsub", "-@dangerous", "+eval",
                                 "+evalsha",      "+time",       "+ping",       "+select"};
  words.insert(words.end(), changes.begin(), changes.end());
  ASSERT_EQ(server.command(words), "+OK");
}

}  // namespace

TEST(redis_doctor, a_good_server_has_nothing_but_facts_and_is_left_as_it_was) {
  const redis_server server({"--appendonly", "yes", "--appendfsync", "always"});
  const auto all = connect(server.url()).examine();
  EXPECT_GE(all.size(), 6u);
  for (const auto& one : all) EXPECT_EQ(one.how, level::fact) << one.text;
  EXPECT_TRUE(eventually([&] { return server.command({"DBSIZE"}) == ":0"; }));
  EXPECT_TRUE(found(level::fact, "has every right", server.url() + "?layout=plain"));
}

TEST(redis_doctor, eviction_of_locks) {
  const redis_server server({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  EXPECT_TRUE(found(level::danger, "maxmemory-policy volatile-lru evicts locks", server.url()));
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(found(level::warning, "will evict locks as soon as", server.url()));
  server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(found(level::fact, "noeviction", server.url()));
}

TEST(redis_doctor, what_a_restart_loses) {
  const redis_server server;
  EXPECT_TRUE(found(level::warning, "forgotten every lock", server.url()));
  server.command({"CONFIG", "SET", "save", "900 1"});
  EXPECT_TRUE(found(level::warning, "only snapshots", server.url()));
  server.command({"CONFIG", "SET", "appendonly", "yes"});
  EXPECT_TRUE(found(level::warning, "appendfsync everysec", server.url()));
  server.command({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_TRUE(found(level::fact, "appendfsync always", server.url()));
}

TEST(redis_doctor, replicas_and_what_they_are_good_for) {
  const redis_server master({"--repl-diskless-sync-delay", "0"});
  EXPECT_TRUE(found(level::fact, "no replicas", master.url()));
  EXPECT_TRUE(found(level::danger, "replicas=2", master.url() + "?replicas=2"));
  master.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_TRUE(found(level::danger, "NOREPLICAS", master.url()));
  const redis_server replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  EXPECT_TRUE(eventually([&] { return bool(found(level::warning, "1 replica, written to after", master.url())); }));
  EXPECT_TRUE(found(level::fact, "a grant counts once 1", master.url() + "?replicas=1"));
  master.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(found(level::warning, "min-replicas-to-write is 0", master.url()));
  EXPECT_TRUE(found(level::danger, "is a replica of 127.0.0.1", replica.url()));
}

TEST(redis_doctor, a_cluster_without_slots) {
  const redis_server server({"--cluster-enabled", "yes", "--databases", "1"});
  EXPECT_TRUE(found(level::danger, "16384 of 16384 slots", server.url()));
  EXPECT_TRUE(found(level::danger, "cluster_state is fail", server.url()));
}

TEST(redis_doctor, connections_that_run_out_or_are_dropped) {
  const redis_server server({"--timeout", "100", "--tcp-keepalive", "0"});
  EXPECT_TRUE(found(level::warning, "timeout 100", server.url()));
  EXPECT_TRUE(found(level::warning, "tcp-keepalive 0", server.url()));
  std::vector<client> many;
  for (int i = 0; i < 9; ++i) many.push_back(connect(server.url()));
  server.command({"CONFIG", "SET", "maxclients", "11"});
  EXPECT_TRUE(found(level::warning, "of 11 connections", server.url()));
}

TEST(redis_doctor, rights_that_are_missing) {
  const redis_server server;
  add_user(server, {});
  EXPECT_TRUE(found(level::fact, "has every right", url_of(server, "app"))) << "what the documentation asks for";
  EXPECT_TRUE(found(level::danger, "lacks rights: WAIT", url_of(server, "app") + "?replicas=1"));
  add_user(server, {"-zadd", "-hset"});
  EXPECT_TRUE(found(level::danger, "HSET, ZADD", url_of(server, "app")));
  add_user(server, {"+zadd", "+hset", "resetchannels", "&holdfast_*"});
  EXPECT_TRUE(found(level::danger, "PUBLISH to redisson_lock__channel:*", url_of(server, "app")));
  EXPECT_TRUE(found(level::danger, "SUBSCRIBE to redisson_lock__channel:*", url_of(server, "app")));
  EXPECT_TRUE(found(level::fact, "has every right", url_of(server, "app") + "?layout=plain"));
  add_user(server, {"-eval", "-evalsha"});
  EXPECT_TRUE(found(level::danger, "may not run scripts", url_of(server, "app")));
  add_user(server, {"+eval", "+evalsha", "resetkeys", "~other"});
  EXPECT_TRUE(found(level::danger, "permissions to access one of the keys", url_of(server, "app")));
}

TEST(redis_doctor, what_the_user_may_not_ask_cannot_be_told) {
  const redis_server server;
  add_user(server, {});
  const auto url = url_of(server, "app");
  EXPECT_TRUE(found(level::warning, "may not call INFO", url));
  EXPECT_TRUE(found(level::warning, "may not subscribe to patterns", url));
  add_user(server, {"+info"});
  EXPECT_TRUE(found(level::warning, "may not call CONFIG GET", url));
  for (const auto& one : connect(url).examine()) EXPECT_NE(one.how, level::danger) << one.text;
}

TEST(redis_doctor, a_server_that_does_not_answer_is_unavailable) {
  redis_server server;
  const client c = connect(server.url(), {.request_timeout = 500ms});
  server.pause();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return c.examine(); }));
  server.resume();
}

}  // namespace holdfast::testing
