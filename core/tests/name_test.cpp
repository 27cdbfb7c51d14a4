#include "name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::detail {
namespace {

TEST(name, takes_any_utf8_without_control_characters_up_to_512_bytes) {
  using namespace std::string_literals;
  const std::string longest(512, 'x');
  for (const std::string& good :
       {"x"s, "orders/42"s, " "s, "a b"s, "%00"s, "grün"s, "锁"s, "🔒"s, "\xc2\xa0"s, "\xef\xbf\xbf"s,
        "\xf4\x8f\xbf\xbf"s, "\xed\x9f\xbf"s, "\xee\x80\x80"s, "../.."s, longest})
    EXPECT_TRUE(check_name(good)) << good;
}

struct bad_name {
  std::string text;
  std::string says;
};

class bad_names : public ::testing::TestWithParam<bad_name> {};

TEST_P(bad_names, are_refused_with_the_offending_byte) {
  const auto checked = check_name(GetParam().text);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, errc::invalid_argument);
  EXPECT_NE(checked.error().detail.find(GetParam().says), std::string::npos) << checked.error().detail;
}

INSTANTIATE_TEST_SUITE_P(
    table, bad_names,
    ::testing::Values(bad_name{"", "empty"}, bad_name{std::string(513, 'x'), "offset 512"},
                      bad_name{"a\nb", "0x0a at offset 1"}, bad_name{std::string("a\0b", 3), "0x00 at offset 1"},
                      bad_name{"\x7f", "0x7f at offset 0"}, bad_name{"ab\x1f", "0x1f at offset 2"},
                      bad_name{"\x80", "0x80 at offset 0"}, bad_name{"x\xff", "0xff at offset 1"},
                      bad_name{"\xc0\xaf", "0xc0 at offset 0"}, bad_name{"\xc1\xbf", "0xc1"},
                      bad_name{"\xe0\x80\xaf", "overlong"}, bad_name{"\xf0\x80\x80\xaf", "overlong"},
                      bad_name{"\xed\xa0\x80", "surrogate"}, bad_name{"\xf4\x90\x80\x80", "U+10FFFF"},
                      bad_name{"\xf5\x80\x80\x80", "0xf5"}, bad_name{"a\xc3", "cut off"},
                      bad_name{"a\xe2\x82", "cut off"}, bad_name{"\xc3(", "0x28 at offset 1"},
                      bad_name{"\xe2(\x82", "0x28 at offset 1"}, bad_name{"\xc2\x85", "control"}));

}  // namespace
}  // namespace holdfast::detail
