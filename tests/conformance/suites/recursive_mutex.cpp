#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Whether another thread gets it now; it gives it back at once.
bool free_for_another_thread(recursive_mutex& m) {
  return std::async(std::launch::async, [&] { return m.try_acquire().has_value(); }).get();
}

}  // namespace

TEST_P(recursive_mutex_conformance, the_thread_that_holds_it_may_take_it_again) {
  const client c = connect();
  const std::string name = unique_name("again");
  recursive_mutex m(c, name);
  m.lock();
  m.lock();
  EXPECT_TRUE(m.try_lock());
  EXPECT_TRUE(m.try_lock_for(live_timeout));
  for (int i = 0; i < 3; ++i) {
    m.unlock();
    EXPECT_FALSE(free_for_another_thread(m));
    EXPECT_FALSE(mutex(connect(), name).try_acquire());
  }
  m.unlock();
  EXPECT_TRUE(free_for_another_thread(m));
}

TEST_P(recursive_mutex_conformance, lock_then_acquire_and_acquire_then_lock_re_enter) {
  const client c = connect();
  const std::string name = unique_name("faces");
  recursive_mutex m(c, name);
  m.lock();
  std::optional<lease> inner = m.acquire({.wait = live_timeout});
  EXPECT_TRUE(inner->valid());
  m.unlock();
  EXPECT_FALSE(free_for_another_thread(m)) << "the lease still holds it";
  m.lock();
  inner.reset();
  EXPECT_FALSE(free_for_another_thread(m)) << "the lock still holds it";
  m.unlock();
  EXPECT_TRUE(free_for_another_thread(m));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(recursive_mutex_conformance, try_acquire_re_enters) {
  recursive_mutex m(connect(), unique_name("try"));
  const lease outer = m.acquire();
  const std::optional<lease> inner = m.try_acquire();
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->token(), outer.token()) << "one grant of the store, one token";
}

TEST_P(recursive_mutex_conformance, async_acquire_on_the_owning_thread_re_enters) {
  recursive_mutex m(connect(), unique_name("async"));
  m.lock();
  lease inner = m.async_acquire({.wait = live_timeout}).get();
  EXPECT_TRUE(inner.valid());
  m.unlock();
  EXPECT_FALSE(free_for_another_thread(m));
  EXPECT_TRUE(succeeded(inner.release()));
  EXPECT_TRUE(free_for_another_thread(m));
}

TEST_P(recursive_mutex_conformance, re_entry_does_not_ask_the_store) {
  const client c = connect();
  const std::string name = unique_name("no-round-trip");
  recursive_mutex m(c, name);
  const std::lock_guard outer(m);
  const auto before = look_at(c, name);
  const lease inner = m.acquire();
  const auto after = look_at(c, name);
  ASSERT_EQ(before.holders.size(), 1u);
  ASSERT_EQ(after.holders.size(), 1u);
  EXPECT_EQ(before.holders[0].token, after.holders[0].token);
  EXPECT_EQ(before.holders[0].owner, after.holders[0].owner);
}

TEST_P(recursive_mutex_conformance, another_thread_is_excluded) {
  const client c = connect();
  recursive_mutex m(c, unique_name("thread"));
  const std::lock_guard outer(m);
  const std::lock_guard inner(m);
  const bool got = std::async(std::launch::async, [&] { return m.try_lock_for(short_wait); }).get();
  EXPECT_FALSE(got);
}

TEST_P(recursive_mutex_conformance, a_waiting_thread_gets_in_after_the_outermost_unlock_only) {
  const client c = connect();
  recursive_mutex m(c, unique_name("outermost"));
  m.lock();
  m.lock();
  std::atomic<bool> inside{false};
  std::jthread other([&] {
    const std::lock_guard guard(m);
    inside = true;
  });
  m.unlock();
  EXPECT_FALSE(eventually([&] { return inside.load(); }, short_wait));
  m.unlock();
  EXPECT_TRUE(eventually([&] { return inside.load(); }));
}

TEST_P(recursive_mutex_conformance, another_object_on_the_same_thread_is_another_contender) {
  const client c = connect();
  const std::string name = unique_name("another-object");
  recursive_mutex m(c, name);
  recursive_mutex other(c, name);
  const lease held = m.acquire();
  EXPECT_FALSE(other.try_acquire());
  EXPECT_FALSE(other.try_lock());
}

TEST_P(recursive_mutex_conformance, leases_may_be_released_in_any_order_and_on_any_thread) {
  const client c = connect();
  const std::string name = unique_name("any-order");
  recursive_mutex m(c, name);
  lease outer = m.acquire();
  lease inner = m.acquire();
  EXPECT_TRUE(succeeded(outer.release()));
  EXPECT_TRUE(inner.valid());
  EXPECT_FALSE(free_for_another_thread(m));
  std::jthread([&] { EXPECT_TRUE(succeeded(inner.release())); }).join();
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(recursive_mutex_conformance, releasing_an_inner_lease_twice_does_not_end_the_outer_hold) {
  recursive_mutex m(connect(), unique_name("twice"));
  const lease outer = m.acquire();
  lease inner = m.acquire();
  EXPECT_TRUE(succeeded(inner.release()));
  EXPECT_TRUE(failed(errc::not_owner, inner.release()));
  EXPECT_FALSE(free_for_another_thread(m));
  EXPECT_TRUE(outer.valid());
}

TEST_P(recursive_mutex_conformance, unlock_by_a_thread_that_does_not_hold_it_releases_nothing) {
  recursive_mutex m(connect(), unique_name("stranger"));
  m.lock();
  std::jthread([&] { m.unlock(); }).join();
  EXPECT_FALSE(free_for_another_thread(m));
  m.unlock();
  EXPECT_TRUE(free_for_another_thread(m));
}

TEST_P(recursive_mutex_conformance, a_lease_acquired_for_no_thread_is_not_re_entered) {
  recursive_mutex m(connect(), unique_name("no-thread"));
  const lease held = m.async_acquire().get();
  EXPECT_FALSE(m.try_acquire()) << "it was not held by this thread when it was asked for";
}

TEST_P(recursive_mutex_conformance, a_ttl_given_on_re_entry_is_ignored) {
  recursive_mutex m(connect(), unique_name("ttl"));
  const lease outer = m.acquire();
  const lease inner = m.acquire({.ttl = 20ms});
  EXPECT_GT(inner.remaining(), 1s);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - start > 60ms; }));
  EXPECT_TRUE(inner.valid());
  EXPECT_TRUE(outer.valid());
}

TEST_P(recursive_mutex_conformance, taking_it_again_after_the_loss_fails_until_the_holds_are_undone) {
  const client c = connect_with_ttl(1500ms);
  const std::string name = unique_name("lost");
  recursive_mutex m(c, name);
  lease outer = m.acquire();
  lease inner = m.acquire();
  store().lose(name);
  ASSERT_TRUE(gets_lost(outer));
  EXPECT_TRUE(inner.lost().stop_requested()) << "all holds of one grant are lost together";
  EXPECT_TRUE(throws(errc::lost, [&] { m.lock(); }));
  EXPECT_TRUE(throws(errc::lost, [&] { return m.try_lock(); }));
  EXPECT_TRUE(throws(errc::lost, [&] { return m.acquire({.wait = live_timeout}); }));
  EXPECT_TRUE(throws(errc::lost, [&] { return m.try_acquire(); }));
  EXPECT_TRUE(failed(errc::lost, inner.release()));
  EXPECT_TRUE(throws(errc::lost, [&] { return m.try_acquire(); })) << "one hold is not undone yet";
  EXPECT_TRUE(failed(errc::lost, outer.release()));
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
}

TEST_P(recursive_mutex_conformance, another_thread_may_take_it_after_the_loss) {
  const client c = connect_with_ttl(1500ms);
  const std::string name = unique_name("lost-thread");
  recursive_mutex m(c, name);
  lease held = m.acquire();
  store().lose(name);
  ASSERT_TRUE(gets_lost(held));
  std::promise<void> finish;
  std::promise<bool> got;
  std::jthread other([&, done = finish.get_future()]() mutable {
    const auto theirs = m.try_acquire({.wait = live_timeout});
    got.set_value(theirs.has_value());
    done.wait();
  });
  EXPECT_TRUE(got.get_future().get());
  EXPECT_TRUE(failed(errc::lost, held.release()));
  EXPECT_FALSE(mutex(connect(), name).try_acquire()) << "the release of the lost hold ended the other thread's";
  finish.set_value();
}

}  // namespace holdfast::testing
