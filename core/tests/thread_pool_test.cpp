#include "thread_pool.hpp"

#include "parker.hpp"
#include "strand.hpp"
#include "support/executors.hpp"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <set>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto live_timeout = 10s;

void ignore(const char*) {}

TEST(thread_pool, runs_what_is_posted_on_threads_of_its_own) {
  thread_pool pool("test", 2, ignore);
  std::promise<std::thread::id> where;
  pool.post([&] { where.set_value(std::this_thread::get_id()); });
  EXPECT_NE(where.get_future().get(), std::this_thread::get_id());
}

TEST(thread_pool, uses_no_more_threads_than_it_may_and_as_many_as_it_needs) {
  thread_pool pool("test", 3, ignore);
  std::latch all_there(3);
  std::latch done(3);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 3; ++i) {
    pool.post([&] {
      all_there.arrive_and_wait();  // only passed if three run at once
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      done.count_down();
    });
  }
  done.wait();
  std::latch more(10);
  for (int i = 0; i < 10; ++i) {
    pool.post([&] {
      {
        std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      more.count_down();
    });
  }
  more.wait();
  EXPECT_EQ(threads.size(), 3U);
}

TEST(thread_pool, a_task_that_throws_is_reported_and_the_next_one_runs) {
  std::mutex mutex;
  std::vector<std::string> reported;
  {
    thread_pool pool("test", 1, [&](const char* what) {
      std::lock_guard lock(mutex);
      reported.emplace_back(what);
    });
    pool.post([] { throw std::runtime_error("oops"); });
    pool.post([] { throw 7; });
    std::promise<void> done;
    pool.post([&] { done.set_value(); });
    EXPECT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
  }
  ASSERT_EQ(reported.size(), 2U);
  EXPECT_EQ(reported[0], "oops");
  EXPECT_NE(reported[1].find("not a std::exception"), std::string::npos);
}

TEST(thread_pool, shut_down_runs_what_is_queued_and_takes_nothing_more) {
  thread_pool pool("test", 1, ignore);
  std::atomic<int> ran = 0;
  std::latch begun(1);
  std::latch go_on(1);
  pool.post([&] {
    begun.count_down();
    go_on.wait();
    ++ran;
  });
  for (int i = 0; i < 5; ++i) pool.post([&] { ++ran; });
  begun.wait();
  auto down = std::async(std::launch::async, [&] { pool.shut_down(); });
  go_on.count_down();
  ASSERT_EQ(down.wait_for(live_timeout), std::future_status::ready);
  EXPECT_EQ(ran, 6);
  pool.post([&] { ++ran; });
  pool.shut_down();
  EXPECT_EQ(ran, 6);
}

TEST(thread_pool, can_be_destroyed_by_one_of_its_own_tasks) {
  auto pool = std::make_shared<thread_pool>("test", 2, ignore);
  std::promise<void> gone;
  auto& p = *pool;
  p.post([pool = std::move(pool), &gone]() mutable {
    pool.reset();
    gone.set_value();
  });
  EXPECT_EQ(gone.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST(strand, runs_tasks_in_order_and_one_at_a_time) {
  auto pool = std::make_shared<thread_pool>("test", 4, ignore);
  auto s = std::make_shared<strand>(pool);
  std::vector<int> order;  // unprotected on purpose
  std::promise<void> done;
  for (int i = 0; i < 1000; ++i) s->post([&order, i] { order.push_back(i); });
  s->post([&] { done.set_value(); });
  ASSERT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(strand, a_task_posted_by_a_task_runs_after_it) {
  auto s = std::make_shared<strand>(std::make_shared<testing::inline_executor>());
  std::vector<int> order;
  s->post([&] {
    s->post([&] { order.push_back(2); });
    order.push_back(1);
  });
  EXPECT_EQ(order, (std::vector{1, 2}));
}

TEST(strand, goes_on_after_a_task_that_threw) {
  auto pool = std::make_shared<thread_pool>("test", 1, ignore);
  auto s = std::make_shared<strand>(pool);
  std::promise<void> done;
  s->post([] { throw std::runtime_error("oops"); });
  s->post([&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST(parker, a_set_before_the_wait_is_not_lost) {
  parker p;
  p.set();
  p.wait();
}

TEST(parker, a_set_is_not_lost_to_one_that_looks_out) {
  for (int i = 0; i < 500; ++i) {
    parker p;
    p.look_out();
    std::thread setter([&, i] {
      // Before it waits, while it looks out, and after it has fallen asleep.
      const auto when = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 3 * 60);
      while (std::chrono::steady_clock::now() < when) std::this_thread::yield();
      p.set();
    });
    p.wait();
    EXPECT_FALSE(p.looks_out());
    setter.join();
  }
}

TEST(parker, looking_out_after_the_set_does_not_undo_it) {
  parker p;
  p.set();
  p.look_out();
  p.wait();
}

TEST(parker, wakes_a_thread_whose_stack_is_gone_a_moment_later) {
  for (int i = 0; i < 500; ++i) {
    std::promise<parker*> where;
    std::thread waiter([&] {
      parker p;
      where.set_value(&p);
      p.wait();
    });
    where.get_future().get()->set();
    waiter.join();
  }
}

}  // namespace
}  // namespace holdfast::detail
