#include "file_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::file {
namespace {

TEST(file_name, plain_names_stay) { EXPECT_EQ(to_file_name("Orders_42.main-x"), "Orders_42.main-x"); }

TEST(file_name, every_other_byte_is_escaped) {
  EXPECT_EQ(to_file_name("a/b c%~\xC3\xA9"), "a%2Fb%20c%25%7E%C3%A9");
  EXPECT_EQ(to_file_name("."), "%2E");
  EXPECT_EQ(to_file_name(".."), "%2E.");
  EXPECT_EQ(to_file_name(".hidden"), "%2Ehidden");
}

TEST(file_name, escaping_is_undone) {
  for (int first = 1; first != 256; ++first) {
    for (const char* rest : {"", "x", "/", "."}) {
      const std::string name = static_cast<char>(first) + std::string(rest);
      EXPECT_EQ(to_lock_name(to_file_name(name)), name);
    }
  }
}

TEST(file_name, what_is_none_of_ours_has_no_name) {
  for (const char* other : {"", ".", ".holdfast", "a~b", "a%2", "a%2f", "a%GG", "%61", "a b", "%", "caf\xC3\xA9"}) {
    EXPECT_FALSE(to_lock_name(other)) << other;
  }
}

TEST(file_name, long_names_are_cut_and_told_apart) {
  const std::string longest(512, 'x');
  const std::string file = to_file_name(longest);
  EXPECT_LE(file.size(), 200u);
  EXPECT_TRUE(is_cut(file));
  EXPECT_FALSE(to_lock_name(file));
  EXPECT_NE(file, to_file_name(longest.substr(1)));
  EXPECT_NE(file, to_file_name(std::string(511, 'x') + "y"));
  EXPECT_FALSE(is_cut(to_file_name(std::string(200, 'x'))));
  EXPECT_TRUE(is_cut(to_file_name(std::string(201, 'x'))));
}

TEST(file_name, an_escape_is_not_cut_in_two) {
  for (std::size_t shift = 0; shift != 3; ++shift) {
    const std::string file = to_file_name(std::string(shift, 'x') + std::string(200, '/'));
    const std::string kept = file.substr(0, file.find('~'));
    EXPECT_EQ((kept.size() - shift) % 3, 0u) << kept;
  }
}

TEST(file_name, the_hash_is_that_of_every_build) {
  EXPECT_EQ(to_file_name(std::string(512, 'x')), std::string(160, 'x') + "~" + "E7AF48D1AE2B8064541CC8585F0D1D8D");
}

}  // namespace
}  // namespace holdfast::file
