#include <holdfast/testing/conformance.hpp>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(striped_mutex_conformance, a_key_always_falls_on_the_same_stripe) {
  const std::string name = unique_name("stable");
  striped_mutex ours(connect(), name, 8);
  striped_mutex theirs(connect(), name, 8);
  for (int key = 0; key < 100; ++key) {
    EXPECT_EQ(ours.for_key(key).name(), theirs.for_key(key).name());
    EXPECT_EQ(&ours.for_key(key), &ours.for_key(std::to_string(key)));
  }
}

TEST_P(striped_mutex_conformance, a_key_falls_on_the_same_stripe_in_every_process) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string name = unique_name("processes");
  striped_mutex ours(connect(), name, 16);
  holder_process other = start_holder();
  for (const char* key : {"order-1", "order-2", "ключ", "a/b"}) {
    EXPECT_EQ(other.ask("stripe " + name + " 16 " + key), ours.for_key(std::string_view(key)).name());
  }
}

TEST_P(striped_mutex_conformance, stripes_are_named_by_their_number_and_all_are_used) {
  const std::string name = unique_name("spread");
  striped_mutex stripes(connect(), name, 8);
  ASSERT_EQ(stripes.size(), 8u);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(stripes.stripe(i).name(), name + "#" + std::to_string(i));
  std::set<std::string> used;
  for (int key = 0; key < 1000; ++key) used.insert(stripes.for_key(key).name());
  EXPECT_EQ(used.size(), 8u);
}

TEST_P(striped_mutex_conformance, keys_of_one_stripe_exclude_each_other_and_others_do_not) {
  const std::string name = unique_name("exclude");
  striped_mutex ours(connect(), name, 4);
  striped_mutex theirs(connect(), name, 4);
  int other_key = 1;
  while (ours.for_key(other_key).name() == ours.for_key(0).name()) ++other_key;
  const std::scoped_lock guard(ours.for_key(0));
  EXPECT_FALSE(theirs.for_key(0).try_lock());
  EXPECT_TRUE(theirs.for_key(other_key).try_lock());
  theirs.for_key(other_key).unlock();
}

TEST_P(striped_mutex_conformance, acquire_any_gives_every_stripe_once) {
  const std::string name = unique_name("any");
  striped_mutex ours(connect(), name, 3);
  striped_mutex theirs(connect(), name, 3);
  std::vector<lease> held;
  std::set<std::string> names;
  for (int i = 0; i < 3; ++i) {
    held.push_back((i % 2 == 0 ? ours : theirs).acquire_any({.wait = live_timeout}));
    EXPECT_TRUE(names.insert(held.back().name()).second);
  }
  EXPECT_TRUE(throws(errc::timed_out, [&] { return ours.acquire_any({.wait = short_wait}); }));
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs.acquire_any({.wait = 0s}); }));
}

TEST_P(striped_mutex_conformance, acquire_any_gets_the_first_stripe_to_come_free) {
  const client c = connect();
  const std::string name = unique_name("first-free");
  striped_mutex ours(c, name, 3);
  striped_mutex theirs(connect(), name, 3);
  std::vector<lease> held;
  for (std::uint32_t i = 0; i < 3; ++i) held.push_back(ours.stripe(i).acquire());
  std::string got;
  {
    std::jthread other([&] { got = theirs.acquire_any({.wait = live_timeout}).name(); });
    ASSERT_TRUE(eventually([&] { return waiters(c, ours.stripe(2).name()) == 1; }));
    ASSERT_TRUE(succeeded(held[2].release()));
  }
  EXPECT_EQ(got, ours.stripe(2).name());
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(nobody_waits(c, ours.stripe(i).name())) << "stripe " << i;
}

TEST_P(striped_mutex_conformance, acquire_any_can_be_cancelled_and_leaves_nothing) {
  const client c = connect();
  const std::string name = unique_name("any-cancelled");
  striped_mutex ours(c, name, 2);
  striped_mutex theirs(connect(), name, 2);
  std::vector<lease> held;
  for (std::uint32_t i = 0; i < 2; ++i) held.push_back(ours.stripe(i).acquire());
  std::stop_source stop;
  std::jthread stopper([&] {
    EXPECT_TRUE(eventually([&] { return waiters(c, ours.stripe(0).name()) == 1; }));
    stop.request_stop();
  });
  EXPECT_TRUE(throws(errc::cancelled, [&] { return theirs.acquire_any({}, stop.get_token()); }));
  held.clear();
  for (std::uint32_t i = 0; i < 2; ++i) EXPECT_TRUE(nothing_left(c, ours.stripe(i).name())) << "stripe " << i;
}

TEST_P(striped_mutex_conformance, impossible_numbers_of_stripes_are_refused) {
  const client c = connect();
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { striped_mutex none(c, unique_name("none"), 0); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { striped_mutex many(c, unique_name("many"), 65'537); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { striped_mutex unnamed(c, "", 2); }));
}

}  // namespace holdfast::testing
