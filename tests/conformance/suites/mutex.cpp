#include <holdfast/testing/conformance.hpp>

#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<mutex> && !std::is_copy_assignable_v<mutex>);
static_assert(noexcept(std::declval<mutex&>().unlock()));

TEST_P(mutex_conformance, std_guards_work) {
  const client c = connect();
  const std::string name = unique_name("guards");
  mutex m(c, name);
  {
    const std::lock_guard guard(m);
    EXPECT_EQ(holders(c, name), 1u);
  }
  {
    const std::scoped_lock guard(m);
    EXPECT_EQ(holders(c, name), 1u);
  }
  {
    std::unique_lock guard(m, std::defer_lock);
    EXPECT_TRUE(guard.try_lock());
    guard.unlock();
    EXPECT_TRUE(guard.try_lock_for(live_timeout));
    guard.unlock();
    EXPECT_TRUE(guard.try_lock_until(std::chrono::system_clock::now() + live_timeout));
  }
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(mutex_conformance, std_lock_takes_two_of_them_without_deadlock) {
  const client c = connect();
  mutex a(c, unique_name("a"));
  mutex b(c, unique_name("b"));
  int total = 0;  // Guarded by both.
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; ++i) {
          if (t == 0) {
            const std::scoped_lock both(a, b);
            ++total;
          } else {
            const std::scoped_lock both(b, a);
            ++total;
          }
        }
      });
    }
  }
  EXPECT_EQ(total, 40);
}

TEST_P(mutex_conformance, the_std_face_and_the_lease_face_of_one_object_exclude_each_other) {
  mutex m(connect(), unique_name("faces"));
  m.lock();
  EXPECT_FALSE(m.try_acquire());
  m.unlock();
  const lease held = m.acquire({.wait = live_timeout});
  EXPECT_FALSE(m.try_lock());
}

TEST_P(mutex_conformance, a_mutex_locked_by_one_thread_may_be_unlocked_by_another) {
  const client c = connect();
  const std::string name = unique_name("any-thread");
  mutex m(c, name);
  m.lock();
  std::jthread([&] { m.unlock(); }).join();
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(mutex_conformance, a_mutex_knows_its_name_store_and_options) {
  const client c = connect();
  const std::string name = unique_name("known");
  mutex m(c, name);
  EXPECT_EQ(m.name(), name);
  EXPECT_EQ(m.store().url(), c.url());
  EXPECT_EQ(m.options().order, ordering::any);
}

TEST_P(mutex_conformance, unlocking_what_is_not_held_is_logged_as_a_warning) {
  std::mutex guard;
  std::vector<std::string> warnings;
  const client c = connect({.log = [&](log_level level, std::string_view line) {
    const std::lock_guard hold(guard);
    if (level == log_level::warning) warnings.emplace_back(line);
  }});
  const std::string name = unique_name("warned");
  mutex m(c, name);
  m.unlock();
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard hold(guard);
    return !warnings.empty() && warnings.front().find(name) != std::string::npos;
  }));
}

TEST_P(mutex_conformance, mutex_and_recursive_mutex_of_one_name_exclude_each_other) {
  const client c = connect();
  const client other = connect();
  const std::string name = unique_name("both-kinds");
  for (const client& second : {c, other}) {
    mutex plain(c, name);
    recursive_mutex recursive(second, name);
    {
      const lease held = plain.acquire({.wait = live_timeout});
      EXPECT_FALSE(recursive.try_acquire());
      EXPECT_FALSE(recursive.try_lock());
    }
    const lease held = recursive.acquire({.wait = live_timeout});
    EXPECT_FALSE(plain.try_acquire());
    EXPECT_FALSE(plain.try_lock());
  }
}

TEST_P(mutex_conformance, kinds_that_could_not_exclude_each_other_are_refused_on_one_name) {
  const client c = connect();
  const client other = connect();
  const std::string name = unique_name("mixed");
  for (const client& second : {c, other}) {
    if (supports().shared_mutex) {
      mutex plain(c, name);
      shared_mutex shared(second, name);
      {
        const lease held = plain.acquire({.wait = live_timeout});
        EXPECT_TRUE(throws(errc::rejected, [&] { return shared.try_acquire(); }));
        EXPECT_TRUE(throws(errc::rejected, [&] { return shared.acquire_shared({.wait = live_timeout}); }));
        EXPECT_TRUE(throws(errc::rejected, [&] { shared.lock(); }));
      }
      const lease held = shared.acquire_shared({.wait = live_timeout});
      EXPECT_TRUE(throws(errc::rejected, [&] { return plain.try_acquire(); }));
    }
    if (supports().permits) {
      mutex plain(c, name);
      permit_semaphore permits(second, name, 2);
      {
        const lease held = plain.acquire({.wait = live_timeout});
        EXPECT_TRUE(throws(errc::rejected, [&] { return permits.try_acquire(); }));
      }
      const lease held = permits.acquire({.wait = live_timeout});
      EXPECT_TRUE(throws(errc::rejected, [&] { return plain.acquire({.wait = live_timeout}); }));
    }
  }
}

TEST_P(mutex_conformance, a_refused_kind_leaves_nothing_and_harms_nobody) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no second kind";
  const client c = connect();
  const std::string name = unique_name("mixed-left");
  mutex plain(c, name);
  shared_mutex shared(connect(), name);
  lease held = plain.acquire();
  EXPECT_TRUE(throws(errc::rejected, [&] { return shared.acquire({.wait = live_timeout}); }));
  EXPECT_EQ(look_at(c, name).kind, "mutex");
  EXPECT_EQ(waiters(c, name), 0u);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(nothing_left(c, name));
}

}  // namespace holdfast::testing
