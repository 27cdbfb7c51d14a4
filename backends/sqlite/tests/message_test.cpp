#include "message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace holdfast::sqlite_tests {

using sqlite::message;
using sqlite::parse;

template <std::size_t N>
std::vector<std::byte> bytes_of(const std::array<message, N>& messages) {
  std::vector<std::byte> bytes(sizeof messages);
  std::memcpy(bytes.data(), messages.data(), bytes.size());
  return bytes;
}

TEST(message_test, what_was_written_is_read) {
  const auto id = spi::owner_id::random();
  const auto sent = bytes_of(std::array{message{message::kind::granted, 4, id, 7, 9, 1234}, message{},
                                        message{message::kind::next, 0, id, 8, 0, 0}});
  const auto got = parse(sent);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].what, message::kind::granted);
  EXPECT_EQ(got[0].tokens, 4U);
  EXPECT_EQ(got[0].id, id);
  EXPECT_EQ(got[0].ticket, 7);
  EXPECT_EQ(got[0].token, 9U);
  EXPECT_EQ(got[0].expires, 1234);
  EXPECT_EQ(got[1].what, message::kind::look_again);
  EXPECT_EQ(got[2].what, message::kind::next);
}

TEST(message_test, anything_else_is_nothing) {
  auto bytes = bytes_of(std::array{message{}, message{}});
  EXPECT_TRUE(parse({}).empty());
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    if (cut % sizeof(message) == 0) continue;
    EXPECT_TRUE(parse({bytes.data(), cut}).empty()) << cut;
  }
  bytes[sizeof(message)] ^= std::byte{0xff};
  EXPECT_TRUE(parse(bytes).empty()) << "one that is not ours spoils the datagram";
}

}  // namespace holdfast::sqlite_tests
