#include "support/rig.hpp"

#include <mutex>
#include <shared_mutex>
#include <thread>

namespace holdfast::testing {
namespace {

TEST(held_leases, the_std_guards_lock_and_unlock) {
  rig r;
  mutex m(r.connected(), "x");
  {
    std::scoped_lock guard(m);
    EXPECT_FALSE(m.try_lock());
  }
  {
    std::unique_lock guard(m, 1s);
    EXPECT_TRUE(guard.owns_lock());
  }
  EXPECT_EQ(r.store->enter.count(), 2U);
  EXPECT_EQ(r.store->leave.count(), 2U);
}

TEST(held_leases, a_lock_may_be_unlocked_by_another_thread_of_its_object) {
  rig r;
  mutex m(r.connected(), "x");
  m.lock();
  std::jthread([&] { m.unlock(); }).join();
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(held_leases, unlock_after_a_loss_does_not_end_another_threads_hold) {
  rig r;
  mutex m(r.connected(), "x");
  m.lock();
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  const auto left = r.store->leave.count();
  std::jthread([&] { m.lock(); }).join();
  m.unlock();  // of the lost one
  EXPECT_EQ(r.store->leave.count(), left);
  EXPECT_EQ(r.stats().held, 1U);
}

TEST(held_leases, unlock_without_lock_does_nothing_but_log) {
  std::string logged;
  rig r({.log = [&](log_level, std::string_view line) { logged = line; }});
  mutex m(r.connected(), "x");
  m.unlock();
  EXPECT_NE(logged.find("'x'"), std::string::npos) << logged;
  EXPECT_EQ(r.store->leave.count(), 0U);
}

TEST(held_leases, a_deadline_before_the_beginning_of_time_is_a_plain_try) {
  rig r;
  mutex m(r.connected(), "x");
  r.store->enter.answers(r.store->busy());
  EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::time_point::min()));
  r.store->enter.answers(r.store->busy());
  EXPECT_FALSE(m.try_lock_for(std::chrono::hours::min()));
  EXPECT_FALSE(r.store->enter.calls()[0].queue);
  EXPECT_FALSE(r.store->enter.calls()[1].queue);
}

TEST(lease, one_that_was_moved_from_fails_softly) {
  rig r;
  mutex m(r.connected(), "x");
  auto from = m.acquire();
  auto to = std::move(from);
  EXPECT_FALSE(from.valid());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(from.release().error().code, errc::not_owner);
  EXPECT_EQ(from.renew().error().code, errc::not_owner);
  EXPECT_TRUE(from.lost().stop_requested());
  EXPECT_EQ(from.remaining(), 0ns);
  EXPECT_EQ(from.name(), "");
  EXPECT_TRUE(to.valid());
}

TEST(lease, assigning_over_one_releases_it) {
  rig r;
  mutex x(r.connected(), "x");
  mutex y(r.connected(), "y");
  auto held = x.acquire();
  held = y.acquire();
  ASSERT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.store->leave.calls()[0].name, "x");
  EXPECT_EQ(held.name(), "y");
}

TEST(lease, the_destructor_releases_and_survives_a_store_that_is_gone) {
  rig r;
  mutex m(r.connected(), "x");
  r.store->leave.otherwise([](const auto&) { return result<bool>(silent); });
  {
    auto held = m.acquire();
  }
  EXPECT_EQ(r.store->leave.count(), 1U);
  r.time->advance(1min);
  const auto tried = r.store->leave.count();
  EXPECT_GT(tried, 1U);
  r.time->advance(1min);
  EXPECT_EQ(r.store->leave.count(), tried) << "after its ttl there is nothing left to release";
}

TEST(lease, remaining_counts_down_on_the_lease_clock) {
  rig r;
  mutex m(r.connected(), "x");
  auto held = m.acquire({.ttl = 10s});
  const auto whole = held.remaining();
  r.time->advance(4s);
  EXPECT_EQ(held.remaining(), whole - 4s);
  r.time->advance(10s);
  EXPECT_EQ(held.remaining(), 0ns);
}

}  // namespace
}  // namespace holdfast::testing
