#include "reply.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::memcached {

namespace {

/// Fed byte by byte: how the stream is cut must not matter.
result<std::vector<reply>> read(const std::string& text) {
  reply_reader reader;
  std::vector<reply> all;
  for (const char c : text) {
    reader.feed({&c, 1});
    auto some = reader.take();
    if (!some) return some.error();
    for (auto& one : *some) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

TEST(memcached_reply, statuses_and_flags_are_taken_apart) {
  const auto all = read("HD c17 O4\r\nNS c0 O5\r\nEN O6\r\nMN\r\n");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 4u);
  EXPECT_TRUE((*all)[0].is("HD"));
  EXPECT_EQ((*all)[0].number('c'), 17u);
  EXPECT_EQ((*all)[0].number('O'), 4u);
  EXPECT_TRUE((*all)[1].is("NS"));
  EXPECT_TRUE((*all)[2].is("EN"));
  EXPECT_EQ((*all)[2].flag('c'), std::nullopt);
  EXPECT_TRUE((*all)[3].is("MN"));
}

TEST(memcached_reply, a_value_may_hold_anything) {
  const std::string body("END\r\nVA 2\r\n\0x", 14);
  const auto all = read("VA " + std::to_string(body.size()) + " c9 t-1\r\n" + body + "\r\nHD\r\n");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].kind, reply::what::value);
  EXPECT_EQ((*all)[0].body, body);
  EXPECT_EQ((*all)[0].number('c'), 9u);
  EXPECT_EQ((*all)[0].number('t'), 0u) << "-1: it does not end";
}

TEST(memcached_reply, lists_end_with_end_and_keep_what_is_ours) {
  const auto all =
      read("STAT pid 7\r\nSTAT version 1.6.18 x\r\nEND\r\nkey=other exp=1\nkey=holdfast.l.a exp=1\nEND\r\nEND\r\n");
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ((*all)[0].stat("pid"), "7");
  EXPECT_EQ((*all)[0].stat("version"), "1.6.18 x");
  EXPECT_EQ((*all)[0].stat("ver"), "");
  EXPECT_EQ((*all)[1].lines, std::vector<std::string>{"key=holdfast.l.a exp=1"});
  EXPECT_TRUE((*all)[2].lines.empty());
}

TEST(memcached_reply, errors_are_told_as_such) {
  for (const std::string text : {"ERROR", "CLIENT_ERROR bad data chunk", "SERVER_ERROR out of memory", "BUSY x"}) {
    const auto all = read(text + "\r\n");
    ASSERT_TRUE(all) << text;
    ASSERT_EQ(all->size(), 1u);
    EXPECT_EQ((*all)[0].kind, reply::what::error);
    EXPECT_EQ((*all)[0].text, text);
  }
}

TEST(memcached_reply, what_memcached_never_says_is_a_failure) {
  for (const std::string& text :
       {std::string("\r\n"), std::string("VA x c1\r\n"), std::string("VA 99999999999999999999 c1\r\n"),
        std::string("VA 1 c1\r\nab\r\n"), std::string("STAT a b\r\nHD\r\n"), std::string("STAT a b\r\nVA 1\r\nx\r\n"),
        std::string(10'000, 'x')})
    EXPECT_FALSE(read(text)) << text.substr(0, 40);
}

}  // namespace holdfast::memcached
