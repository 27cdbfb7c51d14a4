#include <holdfast/testing/conformance.hpp>

#include <future>
#include <thread>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Short, so that a loss nobody pushes to the client is found by the next renewal soon.
constexpr auto ttl = 1500ms;

}  // namespace

TEST_P(loss_conformance, an_evicted_lease_is_lost_with_its_cause) {
  const std::string name = unique_name("evicted");
  auto lock = make(connect_with_ttl(ttl), name);
  const lease held = lock->acquire();
  EXPECT_EQ(held.loss_cause(), loss::none);
  store().lose(name);
  ASSERT_TRUE(gets_lost(held));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.loss_cause(), loss::taken);
  EXPECT_EQ(held.remaining(), 0ns);
}

TEST_P(loss_conformance, a_lost_lease_tells_its_stop_callbacks) {
  const std::string name = unique_name("callback");
  auto lock = make(connect_with_ttl(ttl), name);
  const lease held = lock->acquire();
  std::promise<void> told;
  const std::stop_callback tell(held.lost(), [&] { told.set_value(); });
  store().lose(name);
  EXPECT_EQ(told.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST_P(loss_conformance, renewing_and_releasing_a_lost_lease_fails) {
  const std::string name = unique_name("fail");
  auto lock = make(connect_with_ttl(ttl), name);
  lease held = lock->acquire();
  store().lose(name);
  ASSERT_TRUE(gets_lost(held));
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_TRUE(failed(errc::lost, held.release()));
  EXPECT_TRUE(failed(errc::not_owner, held.release()));
}

TEST_P(loss_conformance, renewing_finds_a_loss_nobody_has_told_of_yet) {
  const std::string name = unique_name("found-by-renew");
  auto lock = make(connect(), name);
  lease held = lock->acquire({.ttl = 20s});
  store().lose(name);
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_FALSE(held.valid());
}

TEST_P(loss_conformance, eviction_lets_the_next_waiter_in_with_a_greater_token) {
  const std::string name = unique_name("next");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire();
  auto next = theirs->async_acquire();
  ASSERT_TRUE(waiting(watcher, name, 1));
  store().lose(name);
  const lease got = next.get();
  EXPECT_GT(got.token(), held.token());
}

TEST_P(loss_conformance, releasing_a_lost_lease_never_ends_the_hold_of_another) {
  const std::string name = unique_name("innocent");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  store().lose(name);
  const lease next = theirs->acquire({.wait = live_timeout});
  EXPECT_TRUE(failed(errc::lost, held.release())) << "whether or not it had heard of the loss";
  EXPECT_EQ(holders(watcher, name), 1u);
  EXPECT_FALSE(make(watcher, name)->try_acquire());
  EXPECT_TRUE(next.valid());
}

TEST_P(loss_conformance, unlocking_after_the_loss_never_ends_the_hold_of_another) {
  const std::string name = unique_name("innocent-std");
  const client watcher = connect();
  auto ours = make(connect_with_ttl(ttl), name);
  auto theirs = make(connect(), name);
  if (!ours->lockable()) GTEST_SKIP() << "no std face";
  ours->lock();
  store().lose(name);
  ASSERT_TRUE(theirs->try_lock_for(live_timeout));
  ours->unlock();
  EXPECT_EQ(holders(watcher, name), 1u);
  EXPECT_FALSE(make(watcher, name)->try_acquire());
  theirs->unlock();
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(loss_conformance, unlocking_after_the_loss_never_ends_the_hold_of_another_thread_of_the_object) {
  const std::string name = unique_name("innocent-thread");
  const client watcher = connect();
  auto shared = make(connect_with_ttl(ttl), name);
  if (!shared->lockable()) GTEST_SKIP() << "no std face";
  shared->lock();
  store().lose(name);
  std::promise<void> unlocked;
  std::promise<bool> locked;
  std::jthread other([&, done = unlocked.get_future()]() mutable {
    const bool got = shared->try_lock_for(live_timeout);
    locked.set_value(got);
    done.wait();
    if (got) shared->unlock();
  });
  EXPECT_TRUE(locked.get_future().get());
  shared->unlock();
  EXPECT_EQ(holders(watcher, name), 1u);
  EXPECT_FALSE(make(watcher, name)->try_acquire());
  unlocked.set_value();
}

TEST_P(loss_conformance, the_destructor_of_a_lost_lease_never_ends_the_hold_of_another) {
  const std::string name = unique_name("innocent-destructor");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  std::optional<lease> held = ours->acquire();
  store().lose(name);
  const lease next = theirs->acquire({.wait = live_timeout});
  held.reset();
  EXPECT_FALSE(make(watcher, name)->try_acquire());
  EXPECT_TRUE(next.valid());
}

TEST_P(loss_conformance, a_lost_lock_can_be_taken_again) {
  const std::string name = unique_name("again");
  auto lock = make(connect_with_ttl(ttl), name);
  lease held = lock->acquire();
  const fencing_token before = held.token();
  store().lose(name);
  ASSERT_TRUE(gets_lost(held));
  static_cast<void>(held.release());  // A recursive_mutex asks its thread to undo the lost hold first.
  const lease again = lock->acquire({.wait = live_timeout});
  EXPECT_GT(again.token(), before);
  EXPECT_TRUE(again.valid());
}

TEST_P(loss_conformance, losing_one_lease_leaves_the_others_of_the_client_alone) {
  const std::string name = unique_name("one");
  const client c = connect_with_ttl(ttl);
  auto one = make(c, name);
  auto other = make(c, unique_name("other"));
  const lease lost = one->acquire();
  lease kept = other->acquire();
  store().lose(name);
  ASSERT_TRUE(gets_lost(lost));
  EXPECT_TRUE(kept.valid());
  EXPECT_TRUE(succeeded(kept.renew()));
  EXPECT_TRUE(succeeded(kept.release()));
}

}  // namespace holdfast::testing
