#include <holdfast/testing/conformance.hpp>
#include <holdfast/testing/scale.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(shared_mutex_conformance, downgrading_lets_readers_in) {
  const client c = connect();
  const std::string name = unique_name("downgrade");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  lease held = m.acquire();
  ASSERT_TRUE(succeeded(held.downgrade()));
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(other.try_acquire_shared({.wait = live_timeout}));
  EXPECT_FALSE(other.try_acquire());
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(other.try_acquire({.wait = live_timeout}));
}

TEST_P(shared_mutex_conformance, downgrading_wakes_waiting_readers) {
  const client c = connect();
  const std::string name = unique_name("downgrade-wakes");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  lease held = m.acquire();
  auto one = other.async_acquire_shared();
  ASSERT_TRUE(waiting(c, name, 1));
  auto two = m.async_acquire_shared();
  ASSERT_TRUE(waiting(c, name, 2));
  ASSERT_TRUE(succeeded(held.downgrade()));
  const lease first = one.get();
  const lease second = two.get();
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(holders(c, name), 3u);
}

TEST_P(shared_mutex_conformance, downgrading_leaves_no_gap_for_a_waiting_writer) {
  const client c = connect();
  const std::string name = unique_name("no-gap");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  for (int i = 0; i < 10; ++i) {
    lease held = m.acquire({.wait = live_timeout});
    auto writer = other.async_acquire();
    ASSERT_TRUE(waiting(c, name, 1));
    ASSERT_TRUE(succeeded(held.downgrade()));
    EXPECT_FALSE(eventually([&] { return writer.ready(); }, 20ms)) << "a writer came in between";
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(holders(c, name), 1u);
    ASSERT_TRUE(succeeded(held.release()));
    EXPECT_TRUE(writer.get().valid());
  }
}

TEST_P(shared_mutex_conformance, a_downgraded_lease_is_shown_as_a_readers) {
  const client c = connect();
  const std::string name = unique_name("shown");
  shared_mutex m(c, name);
  lease held = m.acquire();
  ASSERT_TRUE(succeeded(held.downgrade()));
  const entry seen = look_at(c, name);
  ASSERT_EQ(seen.holders.size(), 1u);
  EXPECT_TRUE(seen.holders[0].shared);
  EXPECT_EQ(seen.holders[0].owner, held.id());
}

TEST_P(shared_mutex_conformance, a_downgraded_lease_is_still_renewed) {
  const std::string name = unique_name("downgraded-renewed");
  shared_mutex m(connect_with_ttl(600ms), name);
  lease held = m.acquire();
  ASSERT_TRUE(succeeded(held.downgrade()));
  const auto end = held.valid_until();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > end + 600ms; }));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(shared_mutex(connect(), name).try_acquire());
}

TEST_P(shared_mutex_conformance, downgrading_a_readers_lease_changes_nothing) {
  const client c = connect();
  const std::string name = unique_name("downgrade-reader");
  shared_mutex m(c, name);
  lease held = m.acquire_shared();
  static_cast<void>(held.downgrade());
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(m.try_acquire_shared());
  EXPECT_FALSE(m.try_acquire());
}

TEST_P(shared_mutex_conformance, the_only_reader_can_be_upgraded) {
  const client c = connect();
  const std::string name = unique_name("upgrade");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  fencing_token before = 0;
  {
    const lease writer = m.acquire();
    before = writer.token();
  }
  lease held = m.acquire_shared({.wait = live_timeout});
  ASSERT_TRUE(held.try_upgrade());
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(other.try_acquire_shared());
  EXPECT_FALSE(m.try_acquire_shared());
  EXPECT_GT(held.token(), before);
  const fencing_token upgraded = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_GT(other.acquire({.wait = live_timeout}).token(), upgraded);
}

TEST_P(shared_mutex_conformance, one_of_two_readers_cannot_be_upgraded_and_stays_a_reader) {
  const client c = connect();
  const std::string name = unique_name("no-upgrade");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  lease held = m.acquire_shared();
  lease second = other.acquire_shared({.wait = live_timeout});
  EXPECT_FALSE(held.try_upgrade());
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(second.valid());
  EXPECT_EQ(holders(c, name), 2u);
  EXPECT_TRUE(m.try_acquire_shared());
  ASSERT_TRUE(succeeded(second.release()));
  EXPECT_TRUE(eventually([&] { return held.try_upgrade(); }));
}

TEST_P(shared_mutex_conformance, two_readers_that_both_want_to_be_upgraded_do_not_both_succeed) {
  const std::string name = unique_name("both-upgrade");
  shared_mutex m(connect(), name);
  shared_mutex other(connect(), name);
  lease one = m.acquire_shared();
  lease two = other.acquire_shared({.wait = live_timeout});
  const bool first = one.try_upgrade();
  const bool second = two.try_upgrade();
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
  EXPECT_TRUE(one.valid());
  EXPECT_TRUE(two.valid());
}

TEST_P(shared_mutex_conformance, a_reader_cannot_be_upgraded_past_a_waiting_writer) {
  if (!store().queues_writers()) GTEST_SKIP() << "the queue is the kernel's";
  const client c = connect();
  const std::string name = unique_name("upgrade-queue");
  shared_mutex m(c, name);
  shared_mutex other(connect(), name);
  lease held = m.acquire_shared();
  auto writer = other.async_acquire();
  ASSERT_TRUE(waiting(c, name, 1));
  EXPECT_FALSE(held.try_upgrade());
  EXPECT_TRUE(held.valid());
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(writer.get().valid());
}

TEST_P(shared_mutex_conformance, an_upgraded_lease_can_be_downgraded_again) {
  const client c = connect();
  const std::string name = unique_name("and-back");
  shared_mutex m(c, name);
  lease held = m.acquire_shared();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(held.try_upgrade());
    EXPECT_FALSE(m.try_acquire_shared());
    ASSERT_TRUE(succeeded(held.downgrade()));
    EXPECT_TRUE(m.try_acquire_shared({.wait = live_timeout}));
  }
}

TEST_P(shared_mutex_conformance, an_upgraded_lease_and_readers_on_their_way_in_never_meet) {
  const client c = connect();
  const std::string name = unique_name("meet");
  shared_mutex m(c, name);
  std::atomic<bool> over{false};
  std::atomic<bool> alone{false};
  std::atomic<int> inside{0};
  std::atomic<int> met{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      shared_mutex same(c, name);
      while (!over) {
        const auto held = same.try_acquire_shared();
        if (!held) continue;
        ++inside;
        if (alone) ++met;
        --inside;
      }
    });
  }
  for (int i = 0; i < scaled(100); ++i) {
    lease held = m.acquire_shared();
    if (!held.try_upgrade()) continue;
    alone = true;
    if (inside != 0) ++met;
    alone = false;
  }
  over = true;
  readers.clear();
  EXPECT_EQ(met, 0);
}

TEST_P(shared_mutex_conformance, converting_a_lost_lease_fails) {
  const std::string name = unique_name("convert-lost");
  shared_mutex m(connect_with_ttl(1500ms), name);
  lease writer = m.acquire();
  store().lose(name);
  ASSERT_TRUE(gets_lost(writer));
  EXPECT_TRUE(failed(errc::lost, writer.downgrade()));
  lease reader = m.acquire_shared({.wait = live_timeout});
  store().lose(name);
  ASSERT_TRUE(gets_lost(reader));
  EXPECT_TRUE(throws(errc::lost, [&] { return reader.try_upgrade(); }));
}

}  // namespace holdfast::testing
