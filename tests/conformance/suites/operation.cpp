#include <holdfast/testing/conformance.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<operation<lease>>);
static_assert(std::is_nothrow_move_constructible_v<operation<lease>>);
static_assert(std::is_trivially_copyable_v<acquire_options>, "g++ 12 miscompiles co_await f({...}) otherwise");

TEST_P(operation_conformance, get_gives_the_lease) {
  auto lock = make(connect(), unique_name("get"));
  lease held = lock->async_acquire().get();
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(succeeded(held.release()));
}

TEST_P(operation_conformance, an_operation_goes_on_before_anybody_asks_for_it) {
  auto lock = make(connect(), unique_name("started"));
  auto started = lock->async_acquire();
  EXPECT_TRUE(eventually([&] { return started.ready(); }));
  EXPECT_TRUE(started.get().valid());
}

TEST_P(operation_conformance, get_throws_what_went_wrong) {
  const std::string name = unique_name("get-throws");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire();
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs->async_acquire({.wait = short_wait}).get(); }));
  EXPECT_TRUE(throws(errc::timed_out, [&] { return theirs->async_acquire({.wait = 0s}).get(); }));
}

TEST_P(operation_conformance, then_calls_back_once_when_the_lock_comes) {
  const std::string name = unique_name("then");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  std::atomic<int> calls{0};
  std::promise<fencing_token> told;
  theirs->async_acquire().then([&](result<lease> got) {
    ++calls;
    told.set_value(got.value().token());
  });
  ASSERT_TRUE(waiting(connect(), name, 1));
  EXPECT_EQ(calls, 0);
  const fencing_token first = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_GT(told.get_future().get(), first);
  EXPECT_EQ(calls, 1);
}

TEST_P(operation_conformance, then_calls_back_once_when_the_outcome_is_there_already) {
  auto lock = make(connect(), unique_name("then-ready"));
  auto started = lock->async_acquire();
  ASSERT_TRUE(eventually([&] { return started.ready(); }));
  std::atomic<int> calls{0};
  std::promise<bool> told;
  started.then([&](result<lease> got) {
    ++calls;
    told.set_value(got.has_value());
  });
  EXPECT_TRUE(told.get_future().get());
  EXPECT_EQ(calls, 1);
}

TEST_P(operation_conformance, then_tells_failures_too) {
  const std::string name = unique_name("then-fails");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire();
  std::promise<std::error_code> told;
  theirs->async_acquire({.wait = short_wait}).then([&](result<lease> got) { told.set_value(got.error().code); });
  EXPECT_EQ(told.get_future().get(), make_error_code(errc::timed_out));
}

TEST_P(operation_conformance, callbacks_do_not_run_on_the_thread_that_releases) {
  const std::string name = unique_name("then-thread");
  const client c = connect();
  auto ours = make(c, name);
  auto next = make(c, name);
  lease held = ours->acquire();
  std::promise<std::thread::id> told;
  next->async_acquire().then([&](result<lease>) { told.set_value(std::this_thread::get_id()); });
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_NE(told.get_future().get(), std::this_thread::get_id());
}

TEST_P(operation_conformance, a_callback_may_release_and_destroy_the_lease) {
  const std::string name = unique_name("then-release");
  const client c = connect();
  auto lock = make(c, name);
  std::promise<bool> released;
  lock->async_acquire().then([&](result<lease> got) {
    lease held = std::move(got).value();
    const bool well = held.release().has_value();
    {
      const lease gone = std::move(held);
    }
    released.set_value(well);
  });
  EXPECT_TRUE(released.get_future().get());
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(operation_conformance, a_callback_may_lock_again) {
  const std::string name = unique_name("then-again");
  const client c = connect();
  auto lock = make(c, name);
  std::promise<bool> done;
  lock->async_acquire().then([&](result<lease> first) {
    const fencing_token before = first.value().token();
    static_cast<void>(first.value().release());
    lock->async_acquire().then(
        [&, before](result<lease> second) { done.set_value(second.has_value() && second->token() > before); });
  });
  EXPECT_TRUE(done.get_future().get());
}

TEST_P(operation_conformance, a_callback_that_throws_is_logged_and_harms_nobody) {
  std::mutex guard;
  std::vector<std::string> log;
  const std::string name = unique_name("then-throws");
  const client c = connect({.log = [&](log_level, std::string_view line) {
    const std::lock_guard lock(guard);
    log.emplace_back(line);
  }});
  auto lock = make(c, name);
  lock->async_acquire().then([](result<lease>) { throw std::runtime_error("thrown by the callback"); });
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard hold(guard);
    return std::any_of(log.begin(), log.end(), [](const std::string& line) {
      return line.find("thrown by the callback") != std::string::npos;
    });
  }));
  EXPECT_TRUE(lock->try_acquire({.wait = live_timeout})) << "the lease the callback dropped was not released";
}

TEST_P(operation_conformance, an_abandoned_operation_leaves_the_queue) {
  const std::string name = unique_name("abandoned");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  {
    auto abandoned = theirs->async_acquire();
    ASSERT_TRUE(waiting(watcher, name, 1));
  }
  EXPECT_TRUE(nobody_waits(watcher, name));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(operation_conformance, an_abandoned_operation_releases_what_it_was_granted) {
  const std::string name = unique_name("abandoned-grant");
  const client watcher = connect();
  auto lock = make(connect(), name);
  {
    auto abandoned = lock->async_acquire();
    ASSERT_TRUE(eventually([&] { return abandoned.ready(); }));
  }
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(operation_conformance, operations_abandoned_at_any_moment_keep_nothing) {
  const std::string name = unique_name("abandoned-any");
  const client c = connect();
  auto lock = make(c, name);
  auto other = make(connect(), name);
  for (int i = 0; i < 50; ++i) {
    auto ours = lock->async_acquire();
    auto theirs = other->async_acquire();
    // Both race to their grant while they are dropped.
  }
  EXPECT_TRUE(make(connect(), name)->try_acquire({.wait = live_timeout}));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(operation_conformance, assigning_to_an_operation_abandons_the_one_before) {
  const std::string name = unique_name("assigned");
  const client watcher = connect();
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease held = ours->acquire();
  auto waiting_for_it = theirs->async_acquire();
  waiting_for_it = theirs->async_acquire();
  ASSERT_TRUE(succeeded(held.release()));
  {
    const lease got = waiting_for_it.get();
  }
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(operation_conformance, operations_of_one_client_are_all_served) {
  const std::string name = unique_name("served");
  const client c = connect();
  auto lock = make(c, name);
  constexpr int count = 100;
  std::atomic<int> served{0};
  for (int i = 0; i < count; ++i) {
    lock->async_acquire().then([&](result<lease> got) { served += got.has_value() ? 1 : 0; });
  }
  EXPECT_TRUE(eventually([&] { return served == count; })) << served;
  EXPECT_TRUE(nothing_left(c, name));
}

}  // namespace holdfast::testing
