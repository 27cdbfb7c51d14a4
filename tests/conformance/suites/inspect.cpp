#include <holdfast/testing/conformance.hpp>

#include <unistd.h>

#include <algorithm>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(inspect_conformance, it_shows_who_holds_a_lock) {
  const client c = connect({.ttl = 20s, .name = "the-holder"});
  const client watcher = connect();
  const std::string name = unique_name("holder");
  mutex m(c, name);
  const auto before = std::chrono::system_clock::now();
  const lease held = m.acquire();
  const auto after = std::chrono::system_clock::now();
  const entry seen = look_at(watcher, name);
  EXPECT_EQ(seen.name, name);
  EXPECT_EQ(seen.kind, "mutex");
  EXPECT_TRUE(seen.waiters.empty());
  ASSERT_EQ(seen.holders.size(), 1u);
  const participant& holder = seen.holders.front();
  EXPECT_EQ(holder.owner, held.id());
  EXPECT_EQ(holder.token, held.token());
  EXPECT_FALSE(holder.host.empty());
  EXPECT_EQ(holder.pid, ::getpid());
  EXPECT_EQ(holder.client_name, "the-holder");
  EXPECT_GE(holder.since, before - 2s) << "stores keep whole seconds at worst";
  EXPECT_LE(holder.since, after + 2s);
  EXPECT_GT(holder.remaining, 5s);
  EXPECT_LE(holder.remaining, 21s);
  EXPECT_FALSE(holder.shared);
  EXPECT_EQ(holder.permits, 1u);
}

TEST_P(inspect_conformance, it_shows_who_waits) {
  const client c = connect({.name = "the-waiter"});
  const client watcher = connect();
  const std::string name = unique_name("waiter");
  mutex ours(watcher, name);
  mutex theirs(c, name);
  const lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(waiting(watcher, name, 1));
  const participant waiter = look_at(watcher, name).waiters.front();
  EXPECT_NE(waiter.owner, held.id());
  EXPECT_FALSE(waiter.owner.empty());
  EXPECT_EQ(waiter.token, fencing_token(0));
  EXPECT_EQ(waiter.pid, ::getpid());
  EXPECT_EQ(waiter.client_name, "the-waiter");
  EXPECT_FALSE(waiter.host.empty());
}

TEST_P(inspect_conformance, a_client_without_a_name_is_shown_by_the_programs) {
  const client c = connect();
  const std::string name = unique_name("unnamed");
  mutex m(c, name);
  const lease held = m.acquire();
  ASSERT_EQ(holders(c, name), 1u);
  EXPECT_FALSE(look_at(c, name).holders.front().client_name.empty());
}

TEST_P(inspect_conformance, it_shows_a_recursive_mutex_as_a_mutex) {
  const client c = connect();
  const std::string name = unique_name("recursive");
  recursive_mutex m(c, name);
  const lease held = m.acquire();
  EXPECT_EQ(look_at(c, name).kind, "mutex");
}

TEST_P(inspect_conformance, it_shows_names_that_start_with_the_prefix) {
  const client c = connect();
  const std::string stem = unique_name("prefix");
  mutex one(c, stem + "/a/1");
  mutex two(c, stem + "/a/2");
  mutex other(c, stem + "/b");
  mutex wild(c, stem + "_%*?");
  const lease held[] = {one.acquire(), two.acquire(), other.acquire(), wild.acquire()};
  const auto names = [&](const std::string& prefix) {
    std::vector<std::string> all;
    for (const entry& e : c.inspect(prefix)) all.push_back(e.name);
    std::sort(all.begin(), all.end());
    return all;
  };
  EXPECT_EQ(names(stem + "/a/"), (std::vector<std::string>{stem + "/a/1", stem + "/a/2"}));
  EXPECT_EQ(names(stem).size(), 4u);
  EXPECT_EQ(names(stem + "_%"), (std::vector<std::string>{stem + "_%*?"})) << "a prefix, not a pattern";
  EXPECT_EQ(names(stem + "%"), std::vector<std::string>{});
  EXPECT_EQ(names(stem + "/c"), std::vector<std::string>{});
  EXPECT_GE(names("").size(), 4u);
}

TEST_P(inspect_conformance, what_is_neither_held_nor_waited_for_is_not_shown) {
  const client c = connect();
  const std::string name = unique_name("gone");
  mutex m(c, name);
  EXPECT_TRUE(look_at(c, name).name.empty());
  {
    const lease held = m.acquire();
  }
  EXPECT_TRUE(nothing_left(c, name));
  {
    const lease brief = m.acquire({.wait = live_timeout, .ttl = 10ms});
  }
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(inspect_conformance, an_expired_hold_is_not_shown) {
  const client c = connect();
  const std::string name = unique_name("expired");
  mutex m(c, name);
  const lease held = m.acquire({.ttl = 50ms});
  ASSERT_TRUE(gets_lost(held));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(inspect_conformance, waiters_are_shown_in_the_order_of_the_queue) {
  if (!supports().fifo) GTEST_SKIP() << "this store has no queue";
  const client watcher = connect();
  const std::string name = unique_name("order");
  mutex m(watcher, name, {.order = ordering::fifo});
  const lease held = m.acquire();
  std::vector<client> clients;
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(connect({.name = "waiter-" + std::to_string(i)}));
    locks.push_back(std::make_unique<mutex>(clients.back(), name, lock_options{.order = ordering::fifo}));
    waits.push_back(locks.back()->async_acquire());
    ASSERT_TRUE(waiting(watcher, name, static_cast<std::size_t>(i) + 1));
  }
  const entry seen = look_at(watcher, name);
  ASSERT_EQ(seen.waiters.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(seen.waiters[i].client_name, "waiter-" + std::to_string(i));
}

TEST_P(inspect_conformance, it_shows_other_processes) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const client c = connect();
  const std::string name = unique_name("process");
  holder_process other = start_holder();
  const std::uint64_t token = other.granted("acquire mutex " + name);
  const entry seen = look_at(c, name);
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_EQ(seen.holders[0].pid, other.pid());
  EXPECT_EQ(seen.holders[0].token.value(), token);
  EXPECT_EQ(seen.holders[0].client_name, "lock_holder");
}

TEST_P(inspect_conformance, evicting_tells_whether_anybody_held_it) {
  client c = connect();
  const std::string name = unique_name("evict");
  EXPECT_FALSE(c.evict(name));
  mutex m(connect(), name);
  const lease held = m.acquire();
  EXPECT_TRUE(c.evict(name));
  EXPECT_FALSE(c.evict(name));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(inspect_conformance, evicting_touches_one_name_only) {
  client c = connect();
  const std::string name = unique_name("evict-one");
  mutex one(c, name);
  mutex longer(c, name + "/more");
  const lease lost = one.acquire();
  lease kept = longer.acquire();
  EXPECT_TRUE(c.evict(name));
  EXPECT_EQ(holders(c, name + "/more"), 1u);
  EXPECT_TRUE(succeeded(kept.renew()));
}

TEST_P(inspect_conformance, evicting_another_process_makes_it_lose_its_lease) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  client c = connect();
  const std::string name = unique_name("evict-process");
  holder_process other = start_holder(1500ms);
  const std::uint64_t token = other.granted("acquire mutex " + name);
  EXPECT_TRUE(c.evict(name));
  mutex m(c, name);
  EXPECT_GT(m.acquire({.wait = live_timeout}).token().value(), token);
  EXPECT_TRUE(eventually([&] { return other.ask("lost") == "yes"; }));
  EXPECT_EQ(other.ask("cause"), std::to_string(static_cast<int>(loss::taken)));
}

}  // namespace holdfast::testing
