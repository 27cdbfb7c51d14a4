#include "advisory_key.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

// Keys as DistributedLock for .NET makes them. The numbers were computed apart from this code, from the description of
// the encodings.

namespace holdfast::postgres {

namespace {

constexpr auto pair = advisory_key::form::pair;
constexpr auto number = advisory_key::form::number;

struct example {
  const char* name;
  advisory_key key;
};

constexpr example examples[] = {
    {"a", {pair, -1023410177, -1}},
    {"m", {pair, -620756993, -1}},
    {"orders/42", {pair, -540334498, 1557640292}},
    {"123456789", {pair, 1657379654, -1382303630}},
    {"1234567890", {number, -768901973204815103, 0}},
    {"0000000000000001", {number, 1, 0}},
    {"ffffffffffffffff", {number, -1, 0}},
    {"FFFFFFFFFFFFFFFE", {number, -2, 0}},
    {"00000001,ffffffff", {pair, 1, -1}},
    {"00000001;ffffffff", {number, 5755264947371599, 0}},
    {"-000000000000001", {number, -7514017371066117054, 0}},
    {"a longer name than nine", {number, -8878385673655976076, 0}},
    {"h\xc3\xa9", {number, 7199962529690375830, 0}},
    {"\xe5\x90\x8d\xe5\x89\x8d/\xe9\x94\x81", {number, 7370486100102612743, 0}},
};

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

}  // namespace

TEST(advisory_key, is_that_of_distributed_lock) {
  for (const auto& one : examples) EXPECT_EQ(key_of(one.name), one.key) << one.name << ": " << key_of(one.name).text();
  EXPECT_EQ(key_of(""), (advisory_key{pair, 2147483647, -1}));
}

TEST(advisory_key, sha1_is_sha1) {
  EXPECT_EQ(hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(sha1(std::string(119, 'a'))), "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56") << "more than a block";
}

TEST(advisory_key, ten_thousand_names_have_as_many_keys) {
  std::minstd_rand random{20261118};
  std::set<std::string> names;
  std::set<std::string> keys;
  while (names.size() < 10'000) {
    std::string name;
    const auto length = std::uniform_int_distribution<int>(1, 40)(random);
    for (int i = 0; i < length; ++i) name += static_cast<char>(std::uniform_int_distribution<int>('!', '~')(random));
    if (names.insert(name).second) keys.insert(key_of(name).text());
  }
  EXPECT_EQ(keys.size(), names.size());
}

}  // namespace holdfast::postgres
