#include "census.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {

namespace {

mvccpb::KeyValue kv(const std::string& key, std::int64_t created, std::int64_t lease, const std::string& value = {}) {
  mvccpb::KeyValue made;
  made.set_key(key);
  made.set_create_revision(created);
  made.set_lease(lease);
  made.set_value(value);
  return made;
}

std::string by(char who) { return "holdfast\tid=" + std::string(32, who); }

}  // namespace

TEST(etcd_census, the_oldest_holds_a_mutex_and_the_others_wait_in_order) {
  const keys names("");
  census all(names);
  for (const auto& one : {kv("a/3", 30, 3), kv("a/1", 10, 1), kv("a/2", 20, 2)}) all.add(one);
  const auto found = all.finish();
  ASSERT_EQ(found.size(), 1u);
  const auto& a = found.at("a");
  EXPECT_EQ(a.kind, spi::kind::mutex);
  ASSERT_EQ(a.holders.size(), 1u);
  EXPECT_EQ(a.holders[0].created, 10);
  ASSERT_EQ(a.waiters.size(), 2u);
  EXPECT_EQ(a.waiters[0].who.id, "2");
}

TEST(etcd_census, readers_hold_together_up_to_the_first_writer) {
  const keys names("");
  census all(names);
  const auto read = [](int n) { return "s/read/170000000000000000" + std::to_string(n); };
  all.add(kv(read(1), 10, 1, by('1')));
  all.add(kv(read(2), 20, 2, by('2')));
  all.add(kv("s/write/1700000000000000003", 30, 3, by('3')));
  all.add(kv(read(3), 30, 3, by('3')));
  all.add(kv(read(4), 40, 4, by('4')));
  const auto found = all.finish();
  const auto& s = found.at("s");
  EXPECT_EQ(s.kind, spi::kind::shared_mutex);
  ASSERT_EQ(s.holders.size(), 2u);
  EXPECT_TRUE(s.holders[1].shared);
  ASSERT_EQ(s.waiters.size(), 2u) << "the two keys of a writer are one";
  EXPECT_FALSE(s.waiters[0].shared);
  EXPECT_EQ(s.waiters[0].keys.size(), 2u);
}

TEST(etcd_census, keys_of_other_programs_are_no_locks) {
  const keys names("");
  census all(names);
  all.add(kv("config/port", 10, 0, "80"));
  all.add(kv("services/web/1", 20, 77, "alive"));
  EXPECT_TRUE(all.finish().empty());
}

}  // namespace holdfast::etcd
