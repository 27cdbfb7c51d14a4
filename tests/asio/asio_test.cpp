// The Asio glue: each kind of completion token, the executor the handler runs on, and cancellation.
#include <holdfast/asio.hpp>
#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace holdfast {
namespace {

constexpr auto live_timeout = 20s;

class asio_glue : public testing::Test {
 protected:
  /// A store of its own for every test.
  client store = connect(std::string("memory:asio-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  mutex lock{store, "lock"};
  asio::io_context io;

  static errc code_of(const std::exception_ptr& why) {
    try {
      if (why) std::rethrow_exception(why);
    } catch (const error& e) {
      return static_cast<errc>(e.code().value());
    }
    return {};
  }

  /// Nothing is left of a wait: gone from inspect at once, since the store is in this process.
  bool nobody_waits() const {
    for (const auto& entry : store.inspect()) {
      if (!entry.waiters.empty()) return false;
    }
    return true;
  }
};

TEST_F(asio_glue, a_callback_gets_the_lease_on_its_own_executor) {
  std::thread::id ran_on;
  std::uint64_t token = 0;
  async_acquire(lock, {}, asio::bind_executor(io, [&](std::exception_ptr why, lease held) {
                  EXPECT_FALSE(why);
                  ran_on = std::this_thread::get_id();
                  token = held.token().value();
                }));
  // Outstanding work keeps run() here until the lease has come.
  io.run();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_GT(token, 0u);
  EXPECT_TRUE(lock.try_acquire()) << "the lease was destroyed with the handler's argument";
}

TEST_F(asio_glue, a_callback_may_be_movable_only) {
  std::promise<bool> done;
  async_acquire(lock, {}, [&done, alone = std::make_unique<int>(1)](std::exception_ptr, lease held) {
    done.set_value(held.valid() && alone != nullptr);
  });
  auto valid = done.get_future();
  ASSERT_EQ(valid.wait_for(live_timeout), std::future_status::ready);
  EXPECT_TRUE(valid.get());
}

TEST_F(asio_glue, a_future_gets_the_lease) {
  std::future<lease> pending = async_acquire(lock, {}, asio::use_future);
  ASSERT_EQ(pending.wait_for(live_timeout), std::future_status::ready);
  EXPECT_TRUE(pending.get().valid());
}

TEST_F(asio_glue, a_future_gets_the_error) {
  const auto held = lock.acquire();
  std::future<lease> pending = async_acquire(lock, {.wait = 1ms}, asio::use_future);
  ASSERT_EQ(pending.wait_for(live_timeout), std::future_status::ready);
  try {
    (void)pending.get();
    FAIL() << "obtained a lock that is held";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::timed_out);
  }
}

TEST_F(asio_glue, a_coroutine_gets_the_lease_back_on_its_executor) {
  auto body = [&]() -> asio::awaitable<std::thread::id> {
    auto held = co_await async_acquire(lock, {.wait = 10s}, asio::use_awaitable);
    EXPECT_TRUE(held.valid());
    co_return std::this_thread::get_id();
  };
  auto ran_on = asio::co_spawn(io, body(), asio::use_future);
  io.run();
  EXPECT_EQ(ran_on.get(), std::this_thread::get_id());
}

TEST_F(asio_glue, a_failed_callback_gets_an_invalid_lease) {
  const auto held = lock.acquire();
  errc code{};
  bool valid = true;
  async_acquire(lock, {.wait = -1s}, asio::bind_executor(io, [&](std::exception_ptr why, lease none) {
                  code = code_of(why);
                  valid = none.valid();
                }));
  io.run();
  EXPECT_EQ(code, errc::invalid_argument);
  EXPECT_FALSE(valid);
}

TEST_F(asio_glue, cancelling_the_slot_ends_the_wait_and_leaves_nothing) {
  const auto held = lock.acquire();
  asio::cancellation_signal signal;
  errc code{};
  async_acquire(lock, {},
                asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, [&](std::exception_ptr why, lease) {
                                               code = code_of(why);
                                             })));
  asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
  io.run();
  EXPECT_EQ(code, errc::cancelled);
  EXPECT_TRUE(nobody_waits());
}

TEST_F(asio_glue, a_signal_after_the_outcome_does_nothing) {
  asio::cancellation_signal signal;
  int called = 0;
  async_acquire(lock, {},
                asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, [&](std::exception_ptr why, lease) {
                                               EXPECT_FALSE(why);
                                               ++called;
                                             })));
  io.run();
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(called, 1);
}

TEST_F(asio_glue, every_waiting_primitive_has_its_form) {
  shared_mutex shared(store, "shared");
  permit_semaphore permits(store, "permits", 3);
  counting_semaphore semaphore(store, "semaphore");
  latch gate(store, "gate");
  semaphore.try_set_permits(1);
  auto body = [&]() -> asio::awaitable<int> {
    auto reader = co_await async_acquire_shared(shared, {}, asio::use_awaitable);
    auto another = co_await async_acquire_shared(shared, {}, asio::use_awaitable);
    auto two = co_await async_acquire_permits(permits, 2, {}, asio::use_awaitable);
    auto third = co_await async_acquire(permits, {}, asio::use_awaitable);
    co_await async_acquire(semaphore, {}, asio::use_awaitable);
    co_await async_wait(gate, {}, asio::use_awaitable);
    co_return reader.valid() + another.valid() + two.valid() + third.valid();
  };
  auto valid = asio::co_spawn(io, body(), asio::use_future);
  io.run();
  EXPECT_EQ(valid.get(), 4);
  EXPECT_EQ(semaphore.available(), 0);
}

}  // namespace
}  // namespace holdfast
