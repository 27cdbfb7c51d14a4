#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>
#include <holdfast/testing/store_fixture.hpp>

#include <gtest/gtest.h>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string at(const redis_server& server, const std::string& who) {
  return "redis://" + who + "127.0.0.1:" + std::to_string(server.port());
}

}  // namespace

TEST(redis_connect, a_unix_socket_reaches_the_same_store) {
  const redis_server server;
  mutex by_socket(connect("redis+unix://" + server.socket() + "?db=1"), "m");
  mutex by_port(connect(server.url(1)), "m");
  const lease held = by_socket.acquire();
  EXPECT_FALSE(by_port.try_acquire());
}

TEST(redis_connect, a_password_is_given_and_never_told) {
  const redis_server server({"--requirepass", "open-sesame"});
  EXPECT_TRUE(mutex(connect(at(server, ":open-sesame@")), "m").try_acquire());
  for (const std::string& url : {at(server, ":hunter2@"), at(server, "app:hunter2@"), at(server, "")}) {
    EXPECT_TRUE(throws(errc::rejected, [&] { return connect(url); }));
    EXPECT_EQ(error_text([&] { return connect(url); }).find("hunter2"), std::string::npos);
  }
}

TEST(redis_connect, a_server_without_auth_does_not_tell_the_password) {
  const redis_server server({"--rename-command", "AUTH", ""});
  const std::string text = error_text([&] { return connect(at(server, "app:hunter2@")); });
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
}

TEST(redis_connect, the_rights_that_are_documented_are_enough) {
  const redis_server server;
  server.command({"ACL",           "SETUSER",     "app",         "on",       ">password",   "~*",
                  "resetchannels", "&holdfast_*", "&redisson_*", "-@all",    "+@hash",      "+@string",
                  "+@list",        "+@sortedset", "+@keyspace",  "+@pubsub", "-@dangerous", "+eval",
                  "+evalsha",      "+time",       "+ping",       "+select"});
  for (const std::string database : {"", "/1"}) {
    const std::string url = at(server, "app:password@") + database;
    client c = connect(url);
    for (const auto order : {ordering::any, ordering::fifo}) {
      if (order == ordering::fifo) server.command({"ACL", "SETUSER", "app", "allchannels"});
      const lock_options options{.order = order};
      mutex m(c, "m", options);
      mutex other(connect(url), "m", options);
      lease held = m.acquire();
      auto waits = other.async_acquire();
      EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
      EXPECT_EQ(c.inspect("").size(), 1u);
      ASSERT_TRUE(succeeded(held.release()));
      EXPECT_TRUE(waits.get().valid());
    }
    server.command({"ACL", "SETUSER", "app", "resetchannels", "&holdfast_*", "&redisson_*"});
    EXPECT_TRUE(shared_mutex(c, "s").try_acquire_shared());
    EXPECT_TRUE(permit_semaphore(c, "p", 2).try_acquire());
    counting_semaphore(c, "c").release(1);
    EXPECT_TRUE(counting_semaphore(c, "c").try_acquire());
    EXPECT_TRUE(latch(c, "l").try_set_count(1));
    EXPECT_FALSE(c.evict("m"));
  }
}

TEST(redis_connect, an_acl_user_without_the_rights_is_told_so) {
  const redis_server server;
  server.command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all"});
  server.command({"ACL", "SETUSER", "poor", "on", ">secret", "~*", "&*", "+@all", "-evalsha", "-eval"});
  EXPECT_TRUE(mutex(connect(at(server, "app:secret@")), "m").try_acquire());
  mutex poor(connect(at(server, "poor:secret@")), "m");
  EXPECT_NE(error_text([&] { return poor.try_acquire(); }).find("right"), std::string::npos);
}

TEST(redis_connect, a_user_without_the_channels_is_told_so_and_leaves_nothing) {
  const redis_server server;
  server.command({"ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all"});
  const client c = connect(at(server, "deaf:secret@"));
  mutex m(c, "m");
  shared_mutex s(c, "s");
  EXPECT_NE(error_text([&] { return m.try_acquire(); }).find("&holdfast_*"), std::string::npos);
  EXPECT_NE(error_text([&] { return s.try_acquire(); }).find("&holdfast_*"), std::string::npos);
  EXPECT_EQ(server.command({"EXISTS", "m", "s"}), ":0");
}

TEST(redis_connect, a_user_who_may_not_listen_is_told_so_when_it_has_to_wait) {
  const redis_server server;
  // May tell of changes, but not hear of its own grants; then all but what Redisson says.
  server.command({"ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "&holdfast_event", "+@all"});
  server.command({"ACL", "SETUSER", "half", "on", ">secret", "~*", "resetchannels", "&holdfast_*", "+@all"});
  mutex holder(connect(server.url()), "m");
  const lease held = holder.acquire();
  server.command({"HSET", "java", "6f1d8e0a-1111-4222-8333-444455556666:41", "1"});
  for (const auto& [user, name] : {std::pair("deaf", "m"), std::pair("half", "java")}) {
    const client c = connect(at(server, std::string(user) + ":secret@"));
    const std::string text = error_text([&] { return mutex(c, name).try_acquire({.wait = live_timeout}); });
    EXPECT_NE(text.find("channel"), std::string::npos) << user << ": " << text;
  }
  const std::string connections = server.command({"EVAL",
                                                  "return tonumber(string.match(redis.call('INFO', 'stats'), "
                                                  "'total_connections_received:(%d+)'))",
                                                  "0"});
  EXPECT_LT(std::stoi(connections.substr(1)), 30) << "it connects over and over";
}

TEST(redis_connect, a_script_that_ends_half_way_leaves_nothing) {
  const redis_server server;
  server.command({"ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-pexpire"});
  mutex m(connect(at(server, "app:secret@")), "m");
  EXPECT_TRUE(throws(errc::rejected, [&] { return m.try_acquire(); }));
  EXPECT_TRUE(eventually([&] { return server.command({"EXISTS", "m"}) == ":0"; }));
}

TEST(redis_connect, nobody_there_is_unavailable_in_time) {
  redis_server server;
  server.kill();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(server.url(), {.connect_timeout = 1s}); }));
}

TEST(redis_connect, a_database_the_server_does_not_have_is_refused) {
  const redis_server server;
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect(server.url(99)); }));
}

TEST(redis_connect, a_server_without_room_for_us_is_unavailable) {
  const redis_server server;
  server.command({"CONFIG", "SET", "maxclients", "1"});
  const client first = connect(server.url());
  EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(server.url()); }));
}

TEST(redis_connect, a_replica_is_unavailable_and_says_why) {
  const redis_server master;
  const redis_server replica({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
  const client c = connect(replica.url());
  mutex m(c, "m");
  const auto connections = [&] {
    return replica.command({"EVAL",
                            "return tonumber(string.match(redis.call('INFO', 'stats'), "
                            "'total_connections_received:(%d+)'))",
                            "0"});
  };
  const int before = std::stoi(connections().substr(1));
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); }));
  EXPECT_TRUE(throws(errc::unavailable, [&] { return mutex(c, "another").try_acquire(); }));
  EXPECT_GT(std::stoi(connections().substr(1)), before + 1) << "a new connection may reach the master";
}

TEST(redis_connect, a_server_out_of_memory_is_rejected) {
  const redis_server server({"--maxmemory", "1"});
  mutex m(connect(server.url()), "m");
  const std::string text = error_text([&] { return m.try_acquire(); });
  EXPECT_NE(text.find("memory"), std::string::npos) << text;
}

TEST(redis_connect, a_key_that_is_no_lock_is_left_alone) {
  const redis_server server;
  server.command({"LPUSH", "basket", "apple"});
  mutex m(connect(server.url()), "basket");
  EXPECT_TRUE(throws(errc::rejected, [&] { return m.try_acquire(); }));
  EXPECT_EQ(server.command({"LLEN", "basket"}), ":1");
}

TEST(redis_connect, hashes_of_other_programs_are_neither_shown_nor_touched) {
  const redis_server server;
  client c = connect(server.url());
  server.command({"HSET", "doc:1", "title", "hello"});
  server.command({"HSET", "doc:2", "title", "hello", "mode", "read"});
  server.command({"HSET", "doc:3", "mode", "write"});
  server.command({"HSET", "doc:3", "6f1d8e0a-1111-4222-8333-444455556666:41", "1", "title", "hello"});
  server.command({"HSET", "doc:4", "mode", "read"});
  for (const std::string name : {"doc:1", "doc:2", "doc:3", "doc:4"}) {
    const std::string before = server.command({"HLEN", name});
    EXPECT_TRUE(c.inspect("").empty());
    EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, name).try_acquire(); }));
    EXPECT_TRUE(throws(errc::rejected, [&] { return shared_mutex(c, name).try_acquire(); }));
    EXPECT_TRUE(throws(errc::rejected, [&] { return shared_mutex(c, name).try_acquire_shared(); }));
    EXPECT_TRUE(throws(errc::rejected, [&] { return c.evict(name); }));
    EXPECT_EQ(server.command({"HLEN", name}), before);
  }
}

}  // namespace holdfast::testing
