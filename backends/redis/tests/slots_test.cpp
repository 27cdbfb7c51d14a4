#include "slots.hpp"

#include "keys.hpp"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::redis {

// What CLUSTER KEYSLOT of a real server says.
TEST(slots, are_those_of_the_server) {
  const struct {
    const char* key;
    slot where;
  } table[] = {{"", 0},
               {"123456789", 12739},
               {"foo", 12182},
               {"my", 4808},
               {"{user1000}.following", 3443},
               {"{user1000}.followers", 3443},
               {"foo{}{bar}", 8363},
               {"foo{{bar}}zap", 4015},
               {"foo{bar}{zap}", 5061},
               {"a{b", 13340},
               {"a}b", 7866}};
  for (const auto& row : table) EXPECT_EQ(slot_of(row.key), row.where) << row.key;
}

TEST(slots, only_what_a_hash_tag_encloses_counts) {
  EXPECT_EQ(hashed_part("a{b}c{d}"), "b");
  EXPECT_EQ(hashed_part("a{{b}c"), "{b");
  EXPECT_EQ(hashed_part("a{}b{c}"), "a{}b{c}");
  EXPECT_EQ(hashed_part("a}b{c"), "a}b{c");
}

TEST(slots, redirections_are_read) {
  const node_address asked{"10.0.0.1", "7000"};
  const auto moved = redirection::from("MOVED 3999 127.0.0.1:6381", asked);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->what, redirection::kind::moved);
  EXPECT_EQ(moved->about, 3999);
  EXPECT_EQ(moved->where, (node_address{"127.0.0.1", "6381"}));
  const auto ask = redirection::from("ASK 1 ::1:6381", asked);
  ASSERT_TRUE(ask);
  EXPECT_EQ(ask->what, redirection::kind::ask);
  EXPECT_EQ(ask->where, (node_address{"::1", "6381"}));
  EXPECT_EQ(ask->where.shown(), "[::1]:6381");
  EXPECT_EQ(redirection::from("MOVED 1 :6381", asked)->where, (node_address{"10.0.0.1", "6381"}));
  EXPECT_EQ(redirection::from("MOVED 1 ?:6381", asked)->where, (node_address{"10.0.0.1", "6381"}));
  for (const char* other :
       {"MOVED", "MOVED x y:1", "MOVED 16384 a:1", "MOVED 1 a", "MOVED 1 a:", "MOVED 1 a:b", "ASKED 1 a:1", ""})
    EXPECT_FALSE(redirection::from(other, asked)) << other;
}

TEST(slots, a_map_tells_who_serves_and_what_nobody_serves) {
  reply_reader reader;
  reader.feed(
      "*3\r\n"
      "*3\r\n:0\r\n:5000\r\n*4\r\n$9\r\n127.0.0.1\r\n:7000\r\n$1\r\na\r\n*0\r\n"
      "*4\r\n:5001\r\n:9999\r\n*4\r\n$0\r\n\r\n:7001\r\n$1\r\nb\r\n*0\r\n*4\r\n$1\r\nh\r\n:7005\r\n$1\r\nc\r\n*0\r\n"
      "*3\r\n:10001\r\n:16383\r\n*4\r\n$1\r\n?\r\n:7002\r\n$1\r\nd\r\n*2\r\n$2\r\nip\r\n$3\r\n1.2\r\n");
  const auto replies = reader.take().value();
  ASSERT_EQ(replies.size(), 1u);
  auto map = slot_map::from(replies.front(), {"asked", "1"}).value();
  EXPECT_EQ(*map.master(0), (node_address{"127.0.0.1", "7000"}));
  EXPECT_EQ(*map.master(9999), (node_address{"asked", "7001"}));
  EXPECT_EQ(*map.master(16383), (node_address{"1.2", "7002"}));
  EXPECT_EQ(map.master(10000), nullptr);
  EXPECT_EQ(map.gap(), std::pair(slot{10000}, slot{10000}));
  map.move(10000, {"h", "7005"});
  EXPECT_EQ(*map.master(10000), (node_address{"h", "7005"}));
  EXPECT_EQ(map.masters().size(), 4u);
  EXPECT_FALSE(map.gap());
}

TEST(slots, a_map_that_makes_no_sense_is_refused) {
  for (const char* bytes : {"*1\r\n*2\r\n:0\r\n:1\r\n", "*1\r\n*3\r\n:5\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
                            "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n", "*1\r\n:7\r\n"}) {
    reply_reader reader;
    reader.feed(bytes);
    EXPECT_FALSE(slot_map::from(reader.take().value().front(), {})) << bytes;
  }
}

namespace {

/// Every key and channel the scripts touch for the name.
std::vector<std::string> keys_and_channels(spi::kind k, const std::string& name) {
  auto all = lock_keys(name);
  for (const char* what : {"cell", "fence"}) all.push_back(own_key(what, name));
  all.push_back(own_key("done", name) + ":0123456789abcdef");
  all.push_back("holdfast_done:" + tag_of(name) + ":0123456789abcdef");
  all.push_back(tag_of(name) + ":6f1d8e0a-1111-4222-8333-444455556666:41:rwlock_timeout:1");
  all.push_back(public_channel(k, name));
  all.push_back(fair_channel(name, "6f1d8e0a-1111-4222-8333-444455556666:41"));
  return all;
}

bool in_one_slot(spi::kind k, const std::string& name) {
  for (const auto& key : keys_and_channels(k, name))
    if (hashed_part(key) != hashed_part(name)) return false;
  return true;
}

}  // namespace

TEST(slots, names_that_would_be_torn_apart_are_known) {
  for (const char* name : {"a{b", "a}b", "{}x", "a{}b{c}", "{", "}", "{}"})
    EXPECT_FALSE(keeps_its_slot(spi::kind::mutex, name)) << name;
  for (const char* name : {"my", "{a}", "{tag}my", "x{t}y", "{a}b{c", "a{{b}"})
    EXPECT_TRUE(keeps_its_slot(spi::kind::mutex, name)) << name;
  EXPECT_TRUE(keeps_its_slot(spi::kind::latch, "my"));
  EXPECT_FALSE(keeps_its_slot(spi::kind::latch, "{tag}my"));
  EXPECT_FALSE(keeps_its_slot(spi::kind::latch, "x{t}y"));
}

TEST(slots, all_keys_and_channels_of_a_name_that_is_taken_are_in_its_slot) {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::size_t taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string name;
    for (std::size_t left = 1 + pick(8); left != 0; --left) name += "ab{}:{}"[pick(7)];
    for (const auto k : {spi::kind::mutex, spi::kind::latch}) {
      if (!keeps_its_slot(k, name)) continue;
      EXPECT_TRUE(in_one_slot(k, name)) << name;
      ++taken;
    }
  }
  EXPECT_GT(taken, 2'000u);
}

}  // namespace holdfast::redis
