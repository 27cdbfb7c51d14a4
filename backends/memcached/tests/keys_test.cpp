#include "keys.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace holdfast::memcached {

TEST(memcached_keys, a_name_is_its_key_where_memcached_takes_it) {
  EXPECT_EQ(key_of(lock_keys, "orders/42"), "holdfast.l.orders/42");
  EXPECT_EQ(key_of(lock_keys, "a b%"), "holdfast.l.a%20b%25");
  EXPECT_NE(key_of(lock_keys, "a b"), key_of(lock_keys, "a%20b"));
  EXPECT_NE(key_of(lock_keys, "a"), key_of(cell_keys, "a"));
}

TEST(memcached_keys, long_names_differ_although_their_beginnings_do_not) {
  std::set<std::string> keys;
  for (const char last : {'a', 'b', ' '}) {
    for (const std::size_t size : {200u, 238u, 239u, 240u, 300u, 511u}) {
      const auto key = key_of(lock_keys, std::string(size, 'x') + last);
      EXPECT_LE(key.size(), 250u);
      EXPECT_EQ(key.find(' '), key.npos);
      EXPECT_TRUE(keys.insert(key).second);
    }
  }
  spi::owner_id id;
  EXPECT_LE(waiter_key(std::string(512, ' '), id).size(), 250u);
}

TEST(memcached_keys, ten_thousand_random_names_have_as_many_keys) {
  std::minstd_rand random{7};
  std::set<std::string> names;
  std::set<std::string> keys;
  while (names.size() < 10'000) {
    std::string name(1 + random() % 512, ' ');
    for (char& c : name) c = " %#ab\xc3"[random() % 6];
    if (names.insert(name).second) keys.insert(key_of(lock_keys, name));
  }
  EXPECT_EQ(keys.size(), names.size());
}

TEST(memcached_keys, names_spread_over_servers_whatever_their_order) {
  const std::vector<address> all{{"a", "1"}, {"b", "1"}, {"c", "1"}};
  const std::vector<address> turned{all[2], all[0], all[1]};
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 3000; ++i) {
    const auto name = "name-" + std::to_string(i);
    const auto at = server_of(name, all);
    ++counts[at];
    EXPECT_EQ(all[at].host, turned[server_of(name, turned)].host);
  }
  for (const auto& [at, count] : counts) EXPECT_GT(count, 700) << at;
  EXPECT_EQ(counts.size(), 3u);
}

TEST(memcached_keys, one_server_less_moves_its_names_only) {
  const std::vector<address> all{{"a", "1"}, {"b", "1"}, {"c", "1"}};
  const std::vector<address> fewer{all[0], all[1]};
  for (int i = 0; i < 1000; ++i) {
    const auto name = "name-" + std::to_string(i);
    if (server_of(name, all) == 2) continue;
    EXPECT_EQ(server_of(name, all), server_of(name, fewer));
  }
}

}  // namespace holdfast::memcached
