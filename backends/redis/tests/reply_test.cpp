#include "reply.hpp"

#include <gtest/gtest.h>

#include <random>

namespace holdfast::redis {

namespace {

std::vector<reply> all_of(std::string_view bytes) {
  reply_reader reader;
  reader.feed(bytes);
  return reader.take().value();
}

}  // namespace

TEST(replies, every_type_is_read) {
  const auto all = all_of("+OK\r\n:-7\r\n$-1\r\n$3\r\na\r\n\r\n-ERR no\r\n*2\r\n:1\r\n$20\r\n18446744073709551615\r\n");
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0].text(), "OK");
  EXPECT_EQ(all[1].integer(), -7);
  EXPECT_EQ(all[2].what(), reply::type::nil);
  EXPECT_EQ(all[3].text(), "a\r\n");
  EXPECT_TRUE(all[4].is_error());
  EXPECT_EQ(all[5].at(0).integer(), 1);
  EXPECT_EQ(all[5].at(1).unsigned_integer(), 18446744073709551615U);
  EXPECT_EQ(all[5].at(2).what(), reply::type::nil);
  EXPECT_EQ(all[5].text(), "");
}

TEST(replies, an_element_outlives_its_array) {
  const reply inner = [] { return all_of("*1\r\n*1\r\n$4\r\ndeep\r\n")[0].at(0).at(0); }();
  EXPECT_EQ(inner.text(), "deep");
}

TEST(replies, come_in_pieces_of_any_size) {
  const std::string_view bytes = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n:5\r\n";
  for (std::size_t piece = 1; piece < bytes.size(); ++piece) {
    reply_reader reader;
    std::vector<reply> all;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(bytes.substr(at, piece));
      auto taken = reader.take();
      ASSERT_TRUE(taken);
      for (auto& r : *taken) all.push_back(std::move(r));
    }
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].at(2).text(), "hi");
  }
}

TEST(replies, garbage_is_refused) {
  for (const std::string_view bytes : {"HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x01", ":x\r\n", "*a\r\n"}) {
    reply_reader reader;
    reader.feed(bytes);
    const auto taken = reader.take();
    ASSERT_FALSE(taken) << bytes;
    EXPECT_EQ(taken.error().code, make_error_code(errc::unavailable));
  }
}

TEST(replies, random_bytes_do_no_harm) {
  std::minstd_rand random{7};
  const std::string_view alphabet = "*$:+-0123456789\r\nab";
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes;
    for (auto n = random() % 40; n > 0; --n) bytes += alphabet[random() % alphabet.size()];
    reply_reader reader;
    reader.feed(bytes);
    const auto taken = reader.take();
    for (std::size_t r = 0; taken && r < taken->size(); ++r) static_cast<void>((*taken)[r].at(0).at(1).integer());
  }
}

TEST(commands, are_spelt_as_the_protocol_wants) {
  std::string out;
  append_command(out, {"SET", "k", std::string_view("\0\r\n", 3), ""});
  EXPECT_EQ(out, std::string("*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n", 35));
}

TEST(reply_reader, an_array_longer_than_any_server_sends_is_no_reply) {
  reply_reader reader;
  reader.feed("*1163816383\r\n:1\r\n");
  EXPECT_FALSE(reader.take()) << "and no room was made for it";
}

}  // namespace holdfast::redis
