#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(shared_mutex_conformance, readers_are_in_together) {
  const client c = connect();
  const std::string name = unique_name("readers");
  shared_mutex ours(c, name);
  shared_mutex theirs(connect(), name);
  const lease one = ours.acquire_shared();
  const lease two = ours.acquire_shared({.wait = live_timeout});
  const std::optional<lease> three = theirs.try_acquire_shared();
  EXPECT_TRUE(three);
  EXPECT_EQ(holders(c, name), 3u);
}

TEST_P(shared_mutex_conformance, a_writer_is_alone) {
  const std::string name = unique_name("writer");
  shared_mutex ours(connect(), name);
  shared_mutex theirs(connect(), name);
  {
    const lease writer = ours.acquire();
    EXPECT_FALSE(theirs.try_acquire_shared());
    EXPECT_FALSE(theirs.try_acquire());
    EXPECT_FALSE(ours.try_acquire_shared());
    EXPECT_FALSE(ours.try_acquire());
  }
  const lease reader = ours.acquire_shared({.wait = live_timeout});
  EXPECT_FALSE(theirs.try_acquire());
  EXPECT_FALSE(ours.try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs.acquire({.wait = short_wait}); }));
}

TEST_P(shared_mutex_conformance, std_guards_work) {
  const client c = connect();
  const std::string name = unique_name("guards");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  {
    const std::shared_lock reader(m);
    const std::shared_lock second(other);
    EXPECT_FALSE(other.try_lock());
  }
  {
    const std::unique_lock writer(m);
    std::shared_lock reader(other, std::defer_lock);
    EXPECT_FALSE(reader.try_lock());
    EXPECT_FALSE(reader.try_lock_for(short_wait));
    EXPECT_FALSE(reader.try_lock_until(std::chrono::steady_clock::now() + short_wait));
    EXPECT_FALSE(reader.try_lock_for(-1s));
  }
  EXPECT_TRUE(other.try_lock_shared_for(live_timeout));
  other.unlock_shared();
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(shared_mutex_conformance, unlocking_one_side_leaves_the_other_alone) {
  const client c = connect();
  const std::string name = unique_name("sides");
  shared_mutex m(c, name);
  m.lock_shared();
  m.unlock();
  EXPECT_EQ(holders(c, name), 1u);
  m.unlock_shared();
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(shared_mutex_conformance, a_writer_gets_in_when_the_last_reader_goes) {
  const client c = connect();
  const std::string name = unique_name("last-reader");
  shared_mutex readers(c, name);
  shared_mutex writer(connect(), name);
  lease one = readers.acquire_shared();
  lease two = readers.acquire_shared();
  auto waits = writer.async_acquire();
  ASSERT_TRUE(waiting(c, name, 1));
  ASSERT_TRUE(succeeded(one.release()));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_TRUE(succeeded(two.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST_P(shared_mutex_conformance, all_waiting_readers_get_in_when_the_writer_goes) {
  const client c = connect();
  const std::string name = unique_name("all-readers");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  lease writer = m.acquire();
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 4; ++i) waits.push_back((i % 2 == 0 ? m : other).async_acquire_shared());
  ASSERT_TRUE(waiting(c, name, 4)) << "every waiter of a shared_mutex is in the store's queue";
  ASSERT_TRUE(succeeded(writer.release()));
  std::vector<lease> readers;
  for (auto& wait : waits) readers.push_back(wait.get());  // All held at one time: none waits for another.
  EXPECT_EQ(holders(c, name), 4u);
}

TEST_P(shared_mutex_conformance, readers_that_time_out_or_are_cancelled_leave_nothing) {
  const client c = connect();
  const std::string name = unique_name("left");
  shared_mutex ours(c, name);
  shared_mutex theirs(connect(), name);
  std::stop_source stop;
  lease writer = ours.acquire();
  EXPECT_FALSE(theirs.try_acquire_shared({.wait = short_wait}));
  auto cancelled = theirs.async_acquire_shared({}, stop.get_token());
  ASSERT_TRUE(waiting(c, name, 1));
  stop.request_stop();
  EXPECT_TRUE(throws(errc::cancelled, [&] { return cancelled.get(); }));
  EXPECT_TRUE(nobody_waits(c, name));
  ASSERT_TRUE(succeeded(writer.release()));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(shared_mutex_conformance, a_writer_that_gives_up_does_not_hold_up_readers) {
  const client c = connect();
  const std::string name = unique_name("gives-up");
  shared_mutex ours(c, name);
  shared_mutex theirs(connect(), name);
  const lease reader = ours.acquire_shared();
  EXPECT_FALSE(theirs.try_acquire({.wait = short_wait}));
  EXPECT_TRUE(ours.try_acquire_shared({.wait = live_timeout}));
}

TEST_P(shared_mutex_conformance, tokens_of_writers_increase_and_those_of_readers_follow_the_writer_before) {
  const std::string name = unique_name("tokens");
  shared_mutex ours(connect(), name);
  shared_mutex theirs(connect(), name);
  fencing_token last_writer = 0;
  for (int i = 0; i < 10; ++i) {
    {
      const lease writer = (i % 2 == 0 ? ours : theirs).acquire({.wait = live_timeout});
      EXPECT_GT(writer.token(), last_writer);
      last_writer = writer.token();
    }
    const lease one = ours.acquire_shared({.wait = live_timeout});
    const lease two = theirs.acquire_shared({.wait = live_timeout});
    EXPECT_GT(one.token(), last_writer);
    EXPECT_GT(two.token(), last_writer);
  }
}

TEST_P(shared_mutex_conformance, inspect_tells_readers_from_writers) {
  const client c = connect();
  const std::string name = unique_name("inspect");
  shared_mutex m(c, name);
  {
    const lease reader = m.acquire_shared();
    const entry seen = look_at(c, name);
    EXPECT_EQ(seen.kind, "shared_mutex");
    ASSERT_EQ(seen.holders.size(), 1u);
    EXPECT_TRUE(seen.holders[0].shared);
  }
  const lease writer = m.acquire({.wait = live_timeout});
  const entry seen = look_at(c, name);
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_FALSE(seen.holders[0].shared);
}

TEST_P(shared_mutex_conformance, eviction_takes_it_from_all_readers) {
  const client c = connect_with_ttl(1500ms);
  const std::string name = unique_name("evict");
  shared_mutex m(c, name);
  const lease one = m.acquire_shared();
  const lease two = m.acquire_shared();
  store().lose(name);
  EXPECT_TRUE(gets_lost(one));
  EXPECT_TRUE(gets_lost(two));
  EXPECT_TRUE(shared_mutex(connect(), name).try_acquire({.wait = live_timeout}));
}

TEST_P(shared_mutex_conformance, a_stream_of_readers_does_not_starve_a_writer) {
  if (!store().queues_writers()) GTEST_SKIP() << "the queue is the kernel's";
  const client c = connect();
  const std::string name = unique_name("starve");
  shared_mutex m(c, name);
  std::atomic<bool> over{false};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      // Each takes its next hold before it gives up the last: left alone, readers are always inside.
      std::optional<lease> held = m.acquire_shared();
      while (!over) {
        auto next = m.try_acquire_shared();
        held.reset();
        held = next ? std::move(next) : std::optional<lease>(m.acquire_shared());
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return holders(c, name) > 0; }));
  shared_mutex writer(connect(), name);
  const auto got = writer.try_acquire({.wait = live_timeout});
  EXPECT_TRUE(got.has_value());
  over = true;
}

TEST_P(shared_mutex_conformance, a_reader_that_comes_after_a_waiting_writer_waits_behind_it) {
  if (!store().queues_writers()) GTEST_SKIP() << "the queue is the kernel's";
  const client c = connect();
  const std::string name = unique_name("behind");
  shared_mutex ours(c, name);
  shared_mutex theirs(connect(), name);
  lease reader = ours.acquire_shared();
  auto writer = theirs.async_acquire();
  ASSERT_TRUE(waiting(c, name, 1));
  auto late = ours.async_acquire_shared();
  ASSERT_TRUE(waiting(c, name, 2));
  ASSERT_TRUE(succeeded(reader.release()));
  lease got = writer.get();
  EXPECT_FALSE(late.ready());
  ASSERT_TRUE(succeeded(got.release()));
  EXPECT_TRUE(late.get().valid());
}

TEST_P(shared_mutex_conformance, a_killed_reader_lets_the_writer_in) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const client c = connect();
  const std::string name = unique_name("killed");
  holder_process other = start_holder(store().notices_death_at_once() ? 30s : 6s);
  other.granted("acquire reader " + name);
  shared_mutex m(c, name);
  EXPECT_FALSE(m.try_acquire());
  EXPECT_TRUE(m.try_acquire_shared());
  other.kill();
  EXPECT_TRUE(m.try_acquire({.wait = store().notices_death_at_once() ? 10s : 60s}));
}

}  // namespace holdfast::testing
