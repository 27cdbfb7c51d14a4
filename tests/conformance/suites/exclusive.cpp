#include <holdfast/testing/conformance.hpp>

#include <algorithm>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(exclusive_conformance, a_free_lock_is_granted_at_once) {
  const client c = connect();
  auto lock = make(c, unique_name("free"));
  const std::optional<lease> held = lock->try_acquire();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->valid());
  EXPECT_FALSE(held->lost().stop_requested());
  EXPECT_GT(held->token().value(), 0u);
}

TEST_P(exclusive_conformance, two_clients_exclude_each_other) {
  const std::string name = unique_name("two-clients");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire();
  EXPECT_FALSE(theirs->try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs->acquire({.wait = short_wait}); }));
}

TEST_P(exclusive_conformance, two_objects_of_one_client_exclude_each_other) {
  const client c = connect();
  const std::string name = unique_name("two-objects");
  auto one = make(c, name);
  auto other = make(c, name);
  const lease held = one->acquire();
  EXPECT_FALSE(other->try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return other->acquire({.wait = short_wait}); }));
}

TEST_P(exclusive_conformance, threads_sharing_one_object_exclude_each_other) {
  auto lock = make(connect(), unique_name("one-object"));
  const lease held = lock->acquire();
  const bool both = std::async(std::launch::async, [&] { return lock->try_acquire().has_value(); }).get();
  EXPECT_FALSE(both);
}

TEST_P(exclusive_conformance, different_names_do_not_exclude_each_other) {
  const client c = connect();
  auto one = make(c, unique_name("one"));
  auto other = make(c, unique_name("other"));
  const lease held = one->acquire();
  EXPECT_TRUE(other->try_acquire());
}

TEST_P(exclusive_conformance, releasing_lets_the_next_client_in) {
  const std::string name = unique_name("release");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(theirs->try_acquire({.wait = live_timeout}));
}

TEST_P(exclusive_conformance, releasing_wakes_a_client_that_waits) {
  const client watcher = connect();
  const std::string name = unique_name("wake");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  auto next = theirs->async_acquire();
  ASSERT_TRUE(waiting(watcher, name, 1));
  EXPECT_FALSE(next.ready());
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST_P(exclusive_conformance, releasing_wakes_a_thread_of_the_same_client) {
  const client c = connect();
  const std::string name = unique_name("wake-local");
  auto lock = make(c, name);
  auto other = make(c, name);
  lease held = lock->acquire();
  // One is in line for certain, the other on its way: whoever waits inside this process need not be seen in the store.
  auto queued = other->async_acquire();
  auto next = std::async(std::launch::async, [&] { return other->acquire({.wait = live_timeout}).token(); });
  EXPECT_FALSE(queued.ready());
  const fencing_token first = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_GT(queued.get().token(), first);
  EXPECT_GT(next.get(), first);
}

TEST_P(exclusive_conformance, the_destructor_of_a_lease_releases_it) {
  const client watcher = connect();
  const std::string name = unique_name("destructor");
  auto ours = make(connect(), name);
  {
    const lease held = ours->acquire();
  }
  EXPECT_TRUE(nothing_left(watcher, name));
  EXPECT_TRUE(make(watcher, name)->try_acquire());
}

TEST_P(exclusive_conformance, a_lease_outlives_the_lock_object_it_came_from) {
  const std::string name = unique_name("outlive");
  const client c = connect();
  auto ours = make(c, name);
  if (kind() == lock_kind::multi_mutex || kind() == lock_kind::quorum_mutex) {
    GTEST_SKIP() << "its members must outlive its leases";
  }
  lease held = ours->acquire();
  ours.reset();
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(make(c, name)->try_acquire());
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(make(c, name)->try_acquire());
}

TEST_P(exclusive_conformance, lock_and_unlock_exclude_as_leases_do) {
  const std::string name = unique_name("std-face");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  if (!ours->lockable()) GTEST_SKIP() << "no std face";
  ours->lock();
  EXPECT_FALSE(theirs->try_lock());
  EXPECT_FALSE(theirs->try_lock_for(short_wait));
  EXPECT_FALSE(theirs->try_lock_until(std::chrono::steady_clock::now() + short_wait));
  EXPECT_FALSE(theirs->try_acquire());
  ours->unlock();
  EXPECT_TRUE(theirs->try_lock_for(live_timeout));
  EXPECT_FALSE(ours->try_lock());
  theirs->unlock();
}

TEST_P(exclusive_conformance, unlock_by_another_object_releases_nothing) {
  const client c = connect();
  const std::string name = unique_name("another-object");
  auto ours = make(c, name);
  auto stranger = make(c, name);
  if (!ours->lockable()) GTEST_SKIP() << "no std face";
  ours->lock();
  stranger->unlock();
  EXPECT_EQ(holders(c, name), 1u);
  EXPECT_FALSE(make(connect(), name)->try_lock());
  ours->unlock();
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(exclusive_conformance, unlock_without_lock_does_no_harm) {
  const client c = connect();
  const std::string name = unique_name("never-locked");
  auto lock = make(c, name);
  if (!lock->lockable()) GTEST_SKIP() << "no std face";
  lock->unlock();
  EXPECT_TRUE(lock->try_lock());
  lock->unlock();
  lock->unlock();
  EXPECT_TRUE(make(connect(), name)->try_lock());
}

TEST_P(exclusive_conformance, tokens_increase_from_grant_to_grant) {
  auto lock = make(connect(), unique_name("tokens"));
  fencing_token last = 0;
  for (int i = 0; i < 50; ++i) {
    const lease held = lock->acquire();
    EXPECT_GT(held.token(), last);
    last = held.token();
  }
}

TEST_P(exclusive_conformance, tokens_increase_between_clients) {
  const std::string name = unique_name("tokens-clients");
  std::vector<std::unique_ptr<exclusive_lock>> locks;
  for (int i = 0; i < 3; ++i) locks.push_back(make(connect(), name));
  fencing_token last = 0;
  for (int i = 0; i < 30; ++i) {
    const lease held = locks[static_cast<std::size_t>(i * 7 % 3)]->acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
  }
}

TEST_P(exclusive_conformance, tokens_increase_over_restarts_of_all_clients) {
  const std::string name = unique_name("tokens-restart");
  fencing_token last = 0;
  for (int i = 0; i < 5; ++i) {
    auto lock = make(connect(), name);  // The last client that knows the store goes at the end of each turn.
    const lease held = lock->acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
  }
}

TEST_P(exclusive_conformance, tokens_increase_when_the_lock_passes_between_threads_of_one_client) {
  const client c = connect();
  const std::string name = unique_name("tokens-handover");
  auto lock = make(c, name);
  std::vector<std::uint64_t> in_order;  // Guarded by the lock under test.
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 25; ++i) {
          lease held = lock->acquire();
          in_order.push_back(held.token().value());
        }
      });
    }
  }
  ASSERT_EQ(in_order.size(), 100u);
  EXPECT_TRUE(std::adjacent_find(in_order.begin(), in_order.end(), std::greater_equal<>()) == in_order.end());
}

}  // namespace holdfast::testing
