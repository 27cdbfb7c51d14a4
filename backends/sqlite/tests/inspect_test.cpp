#include "sqlite_fixture.hpp"

#include <atomic>

namespace holdfast::sqlite_tests {

using inspect_test = sqlite_test;

TEST_F(inspect_test, it_shows_holders_and_waiters_with_everything_known_of_them) {
  auto a = client("first");
  auto b = client("second");
  const auto held = mutex_claim("jobs/1", 20s);
  const auto waiting = mutex_claim("jobs/1");
  const auto grant = a->take(held);
  b->queue(waiting);
  clock_.advance(5s);
  const auto all = a->inspect("jobs/");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "jobs/1");
  EXPECT_EQ(all[0].kind, "mutex");
  ASSERT_EQ(all[0].holders.size(), 1U);
  const participant& holder = all[0].holders[0];
  EXPECT_EQ(holder.owner, held.id.hex());
  EXPECT_EQ(holder.token, grant.first_token);
  EXPECT_EQ(holder.host, "machine");
  EXPECT_EQ(holder.pid, ::getpid());
  EXPECT_EQ(holder.client_name, "first");
  EXPECT_LE(holder.remaining, 15s);
  EXPECT_GT(holder.remaining, 10s);
  const auto age = std::chrono::system_clock::now() - holder.since;
  EXPECT_GE(age, 4s);
  EXPECT_LT(age, 30s);
  ASSERT_EQ(all[0].waiters.size(), 1U);
  EXPECT_EQ(all[0].waiters[0].owner, waiting.id.hex());
  EXPECT_EQ(all[0].waiters[0].client_name, "second");
}

TEST_F(inspect_test, it_shows_names_with_the_prefix_in_order_and_no_idle_ones) {
  auto a = client();
  for (const char* name : {"b", "a/2", "a/1", "a", "A/1", "a/%"}) a->take(mutex_claim(name));
  const auto idle = mutex_claim("a/idle");
  a->take(idle);
  a->leave(idle);
  std::vector<std::string> names;
  for (const auto& e : a->inspect("a/")) names.push_back(e.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a/%", "a/1", "a/2"}));
  EXPECT_EQ(a->inspect().size(), 6U);
}

TEST_F(inspect_test, readers_and_permits_are_shown_as_such) {
  auto a = client();
  a->take(shared_claim("rw", spi::access::shared));
  a->take(permit_claim("p", 3, 4));
  const auto all = a->inspect();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].kind, "permit_semaphore");
  EXPECT_EQ(all[0].holders[0].permits, 3U);
  EXPECT_FALSE(all[0].holders[0].shared);
  EXPECT_EQ(all[1].kind, "shared_mutex");
  EXPECT_TRUE(all[1].holders[0].shared);
}

TEST_F(inspect_test, what_has_ended_is_not_shown_and_the_next_one_is_let_in) {
  auto a = client();
  auto b = client();
  a->take(mutex_claim("m", 5s));
  const auto next = mutex_claim("m");
  b->queue(next);
  auto woken = b->watch(next);
  clock_.advance(6s);
  const auto all = a->inspect();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].holders[0].owner, next.id.hex());
  EXPECT_TRUE(woken.wait());
}

TEST_F(inspect_test, observers_hear_of_the_changes_of_others_and_can_stop) {
  auto a = client();
  auto b = client();
  std::atomic<int> heard{0};
  const auto stop = a->store().observe("", [&] { ++heard; });
  const auto c = mutex_claim("m");
  b->take(c);
  EXPECT_TRUE(eventually([&] { return heard > 0; }));
  stop();
  const int before = heard;
  b->leave(c);
  a->take(mutex_claim("other"));
  EXPECT_EQ(heard, before);
}

TEST_F(inspect_test, observers_look_twice_because_a_commit_is_seen_after_its_last_write) {
  auto a = client();
  auto b = client();
  b->take(mutex_claim("warm"));
  std::atomic<int> heard{0};
  const auto stop = a->store().observe("", [&] { ++heard; });
  b->take(mutex_claim("m"));
  EXPECT_TRUE(eventually([&] { return heard >= 2; }));
  stop();
}

TEST_F(inspect_test, observers_hear_when_a_ttl_ends) {
  auto a = client();
  auto b = client();
  std::atomic<int> heard{0};
  const auto stop = a->store().observe("", [&] { ++heard; });
  b->take(mutex_claim("m", 5s));
  a->inspect();
  ASSERT_TRUE(eventually([&] { return heard > 0; }));
  const int before = heard;
  clock_.advance(6s);
  EXPECT_TRUE(eventually([&] { return heard > before; }));
  stop();
}

TEST_F(inspect_test, a_client_that_only_looks_leaves_nothing_behind) {
  auto a = client();
  a->take(mutex_claim("m"));
  {
    auto b = client("looker");
    EXPECT_EQ(b->inspect().size(), 1U);
  }
  EXPECT_EQ(a->inspect()[0].holders[0].client_name, "test");
}

}  // namespace holdfast::sqlite_tests
