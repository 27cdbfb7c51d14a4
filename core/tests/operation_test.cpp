#include <holdfast/operation.hpp>

#include "support/rig.hpp"

#include <coroutine>
#include <thread>

namespace holdfast::testing {
namespace {

using state = detail::operation_state<int>;

struct operation_under_test : ::testing::Test {
  std::shared_ptr<manual_executor> callbacks = std::make_shared<manual_executor>();
  std::shared_ptr<state> shared = std::make_shared<state>(callbacks, "x");
  operation<int> op{shared};
};

/// The least a coroutine needs: runs until its first wait, and by itself afterwards.
struct fire_and_forget {
  struct promise_type {
    fire_and_forget get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

TEST_F(operation_under_test, get_waits_for_the_outcome) {
  std::jthread later([&] { shared->complete(7); });
  EXPECT_EQ(op.get(), 7);
}

TEST_F(operation_under_test, get_throws_the_failure_and_names_what_was_waited_for) {
  shared->complete(failure{errc::timed_out, {}});
  try {
    op.get();
    FAIL() << "must throw";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::timed_out);
    EXPECT_EQ(e.name(), "x");
  }
}

TEST_F(operation_under_test, then_is_called_once_when_the_outcome_comes) {
  int calls = 0;
  std::move(op).then([&](result<int> outcome) {
    ++calls;
    EXPECT_EQ(*outcome, 7);
  });
  EXPECT_EQ(callbacks->waiting(), 0U);
  shared->complete(7);
  EXPECT_EQ(calls, 0) << "on the callback executor, not where it completes";
  callbacks->run();
  EXPECT_EQ(calls, 1);
}

TEST_F(operation_under_test, then_is_called_once_when_the_outcome_is_there) {
  int calls = 0;
  shared->complete(7);
  op.then([&](result<int>) { ++calls; });
  EXPECT_EQ(calls, 0);
  callbacks->run();
  EXPECT_EQ(calls, 1);
}

TEST_F(operation_under_test, then_races_with_the_outcome_and_is_called_once) {
  for (int i = 0; i < 500; ++i) {
    auto s = std::make_shared<state>(callbacks, "x");
    operation<int> o(s);
    int calls = 0;
    {
      std::jthread store([&] { s->complete(i); });
      o.then([&](result<int> outcome) {
        ++calls;
        EXPECT_EQ(*outcome, i);
      });
    }
    callbacks->run();
    ASSERT_EQ(calls, 1);
  }
}

TEST_F(operation_under_test, a_coroutine_goes_on_with_the_outcome) {
  int seen = 0;
  auto wait = [](operation<int> o, int& out) -> fire_and_forget {
    auto outcome = co_await o;
    out = *outcome;
  };
  wait(std::move(op), seen);
  EXPECT_EQ(seen, 0);
  shared->complete(7);
  callbacks->run();
  EXPECT_EQ(seen, 7);
}

TEST_F(operation_under_test, a_coroutine_does_not_stop_for_what_is_there) {
  shared->complete(failure{errc::cancelled, {}});
  std::error_code seen;
  auto wait = [](operation<int> o, std::error_code& out) -> fire_and_forget {
    auto outcome = co_await o;
    out = outcome.error().code;
  };
  wait(std::move(op), seen);
  EXPECT_EQ(seen, errc::cancelled);
}

TEST_F(operation_under_test, destroying_it_unused_cancels_once) {
  int cancelled = 0;
  shared->on_abandon([&] { ++cancelled; });
  {
    auto gone = std::move(op);
  }
  EXPECT_EQ(cancelled, 1);
  shared->complete(7);  // too late: dropped on the callback executor
  EXPECT_EQ(callbacks->waiting(), 1U);
  callbacks->run();
}

TEST_F(operation_under_test, destroying_it_after_the_outcome_cancels_nothing) {
  int cancelled = 0;
  shared->on_abandon([&] { ++cancelled; });
  shared->complete(7);
  {
    auto gone = std::move(op);
  }
  EXPECT_EQ(cancelled, 0);
}

TEST_F(operation_under_test, assigning_over_it_abandons_the_old_one) {
  int cancelled = 0;
  shared->on_abandon([&] { ++cancelled; });
  op = operation<int>(std::make_shared<state>(callbacks, "y"));
  EXPECT_EQ(cancelled, 1);
}

TEST(operation, an_abandoned_wait_leaves_the_queue_and_releases_a_late_grant) {
  rig r;
  mutex m(r.connected(), "x");
  r.store->enter.holds_back();
  {
    auto unwanted = m.async_acquire();
  }
  r.store->enter.complete(r.store->grant(r.store->enter.calls()[0].claim));
  r.callbacks->run();
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.stats().held, 0U);
}

TEST(operation, a_callback_may_release_or_destroy_the_lease) {
  rig r;
  mutex m(r.connected(), "x");
  m.async_acquire().then([](result<lease> outcome) { EXPECT_TRUE(outcome->release()); });
  r.callbacks->run();
  m.async_acquire().then([](result<lease> outcome) { EXPECT_TRUE(outcome); });
  r.callbacks->run();
  EXPECT_EQ(r.store->leave.count(), 2U);
}

}  // namespace
}  // namespace holdfast::testing
