#include "reentrant_core.hpp"

#include "support/rig.hpp"

#include <holdfast/recursive_mutex.hpp>

#include <thread>

namespace holdfast::testing {
namespace {

/// Runs `f` on another thread and waits for it.
template <class F>
void elsewhere(F f) {
  std::jthread(std::move(f)).join();
}

TEST(reentrant_core, entering_again_asks_the_store_nothing) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  m.lock();
  m.lock();
  EXPECT_TRUE(m.try_lock());
  auto lease = m.acquire();
  EXPECT_EQ(r.store->enter.count(), 1U);
  m.unlock();
  m.unlock();
  m.unlock();
  EXPECT_EQ(r.store->leave.count(), 0U) << "the lease is still there";
  EXPECT_TRUE(lease.valid());
  EXPECT_TRUE(lease.release());
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(lease.release().error().code, errc::not_owner);
}

TEST(reentrant_core, another_thread_does_not_enter) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  m.lock();
  elsewhere([&] { EXPECT_FALSE(m.try_lock()); });
  m.unlock();
  elsewhere([&] {
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  });
  EXPECT_EQ(r.store->enter.count(), 2U);
}

TEST(reentrant_core, unlock_by_a_thread_that_does_not_hold_it_does_nothing_but_log) {
  std::string logged;
  rig r({.log = [&](log_level, std::string_view line) { logged = line; }});
  recursive_mutex m(r.connected(), "x");
  m.unlock();
  EXPECT_NE(logged.find("does not hold"), std::string::npos);
  m.lock();
  elsewhere([&] { m.unlock(); });
  EXPECT_EQ(r.store->leave.count(), 0U);
  m.unlock();
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(reentrant_core, entering_again_after_the_loss_fails_until_all_is_undone) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  m.lock();
  m.lock();
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  const auto code_of = [](auto&& call) {
    try {
      call();
    } catch (const error& e) {
      return e.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(code_of([&] { m.lock(); }), errc::lost);
  m.unlock();
  EXPECT_EQ(code_of([&] { (void)m.acquire(); }), errc::lost);
  EXPECT_EQ(code_of([&] { (void)m.async_acquire().get(); }), errc::lost);
  m.unlock();
  EXPECT_NO_THROW(m.lock());
  EXPECT_EQ(r.store->enter.count(), 2U);
  m.unlock();
}

TEST(reentrant_core, the_old_owners_unlock_does_not_end_the_new_owners_hold) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  m.lock();
  m.lock();
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  const auto left_before = r.store->leave.count();
  std::jthread([&] { m.lock(); }).join();  // the new tenure, of a thread that is another one
  EXPECT_EQ(r.store->enter.count(), 2U);
  m.unlock();
  m.unlock();
  m.unlock();
  EXPECT_EQ(r.store->leave.count(), left_before);
  EXPECT_EQ(r.stats().held, 1U);
}

TEST(reentrant_core, a_lease_of_the_old_tenure_does_not_end_the_new_one) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  auto old = m.acquire();
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  const auto left_before = r.store->leave.count();
  std::jthread([&] { m.lock(); }).join();
  EXPECT_EQ(old.release().error().code, errc::lost);
  EXPECT_FALSE(old.valid());
  EXPECT_EQ(r.store->leave.count(), left_before);
  EXPECT_EQ(r.stats().held, 1U);
}

TEST(reentrant_core, a_lease_may_be_released_by_another_thread) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  auto lease = m.acquire();
  elsewhere([&] { EXPECT_TRUE(lease.release()); });
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_TRUE(m.try_lock()) << "nothing is held here any more: a new acquisition";
  EXPECT_EQ(r.store->enter.count(), 2U);
  m.unlock();
}

TEST(reentrant_core, what_was_acquired_asynchronously_is_entered_by_nobody) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  auto lease = m.async_acquire().get();
  EXPECT_FALSE(m.try_lock());
  EXPECT_TRUE(lease.release());
}

TEST(reentrant_core, an_asynchronous_acquisition_on_the_owning_thread_enters_again) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  m.lock();
  auto lease = m.async_acquire().get();
  EXPECT_EQ(r.store->enter.count(), 1U);
  m.unlock();
  EXPECT_EQ(r.store->leave.count(), 0U);
  EXPECT_TRUE(lease.release());
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(reentrant_core, two_objects_of_one_name_are_two_contenders) {
  rig r;
  recursive_mutex a(r.connected(), "x");
  recursive_mutex b(r.connected(), "x");
  a.lock();
  EXPECT_FALSE(b.try_lock());
  a.unlock();
}

TEST(reentrant_core, tenures_of_many_threads_end_as_often_as_they_began) {
  rig r;
  recursive_mutex m(r.connected(), "x");
  int unprotected = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          m.lock();
          m.lock();
          ++unprotected;
          m.unlock();
          m.unlock();
        }
      });
    }
  }
  EXPECT_EQ(unprotected, 800);
  EXPECT_EQ(r.stats().held, 0U);
  EXPECT_EQ(r.stats().acquired, 800U);
}

}  // namespace
}  // namespace holdfast::testing
