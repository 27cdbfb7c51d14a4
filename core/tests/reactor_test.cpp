#include "reactor.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <future>
#include <latch>
#include <vector>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto live_timeout = 10s;

void ignore(const char*) {}

/// A descriptor that is readable while its count is not zero.
struct signal_fd {
  signal_fd() : fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~signal_fd() { ::close(fd); }
  void raise() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  std::uint64_t take() const {
    std::uint64_t count = 0;
    return ::read(fd, &count, sizeof count) > 0 ? count : 0;
  }
  const int fd;
};

/// Runs `f` on the reactor's thread and waits for it.
template <class F>
void inside(reactor& r, F f) {
  std::promise<void> done;
  r.at(r.now(), [&] {
    f();
    done.set_value();
  });
  ASSERT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST(reactor, timers_run_in_the_order_of_their_times) {
  reactor r(ignore);
  std::vector<int> order;
  std::promise<void> done;
  const auto now = r.now();
  r.at(now + 30ms, [&] {
    order.push_back(3);
    done.set_value();
  });
  r.at(now + 10ms, [&] { order.push_back(1); });
  r.at(now + 20ms, [&] { order.push_back(2); });
  ASSERT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
  EXPECT_GE(r.now(), now + 30ms);
}

TEST(reactor, a_timer_in_the_past_runs_now) {
  reactor r(ignore);
  std::promise<void> done;
  r.at(lease_clock::time_point::min(), [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST(reactor, an_earlier_timer_is_not_kept_waiting_by_a_later_one) {
  reactor r(ignore);
  std::promise<void> done;
  r.at(r.now() + 1h, [] {});
  r.at(r.now() + 5ms, [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST(reactor, a_cancelled_timer_does_not_run_and_lets_go_of_what_it_held) {
  reactor r(ignore);
  bool ran = false;
  auto held = std::make_shared<int>(1);
  const auto t = r.at(r.now() + 1h, [&ran, held] { ran = true; });
  EXPECT_NE(t, 0U);
  EXPECT_EQ(held.use_count(), 2);
  r.cancel(t);
  EXPECT_EQ(held.use_count(), 1);
  r.cancel(t);
  r.cancel(12345);
  EXPECT_FALSE(ran);
}

TEST(reactor, a_timer_can_cancel_another_and_set_new_ones) {
  reactor r(ignore);
  bool ran = false;
  std::promise<void> done;
  inside(r, [&] {
    const auto doomed = r.at(r.now(), [&] { ran = true; });
    r.cancel(doomed);
    r.at(r.now() + 1ms, [&] { done.set_value(); });
  });
  EXPECT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
  EXPECT_FALSE(ran);
}

TEST(reactor, a_timer_that_throws_is_reported_and_the_others_go_on) {
  std::promise<std::string> reported;
  reactor r([&](const char* what) { reported.set_value(what); });
  r.at(r.now(), [] { throw std::runtime_error("oops"); });
  inside(r, [] {});
  EXPECT_EQ(reported.get_future().get(), "oops");
}

TEST(reactor, a_readable_descriptor_is_told_until_it_is_forgotten) {
  reactor r(ignore);
  signal_fd s;
  std::promise<void> twice;
  int calls = 0;
  r.on_readable(s.fd, [&] {
    s.take();
    if (++calls == 2)
      twice.set_value();
    else
      s.raise();
  });
  s.raise();
  ASSERT_EQ(twice.get_future().wait_for(live_timeout), std::future_status::ready);
  r.forget(s.fd);
  s.raise();
  inside(r, [] {});
  EXPECT_EQ(calls, 2);
}

TEST(reactor, forget_waits_for_a_call_that_runs) {
  reactor r(ignore);
  signal_fd s;
  std::latch inside_call(1);
  std::latch go_on(1);
  std::atomic<bool> over = false;
  r.on_readable(s.fd, [&] {
    s.take();
    inside_call.count_down();
    go_on.wait();
    over = true;
  });
  s.raise();
  inside_call.wait();
  auto forgotten = std::async(std::launch::async, [&] {
    r.forget(s.fd);
    EXPECT_TRUE(over);
  });
  go_on.count_down();
  EXPECT_EQ(forgotten.wait_for(live_timeout), std::future_status::ready);
}

TEST(reactor, forget_from_inside_the_call_does_not_wait_for_itself) {
  reactor r(ignore);
  signal_fd s;
  std::promise<void> done;
  int calls = 0;
  r.on_readable(s.fd, [&] {
    ++calls;
    r.forget(s.fd);  // still readable
    done.set_value();
  });
  s.raise();
  ASSERT_EQ(done.get_future().wait_for(live_timeout), std::future_status::ready);
  inside(r, [] {});
  EXPECT_EQ(calls, 1);
}

TEST(reactor, forget_of_an_unknown_descriptor_does_nothing) {
  reactor r(ignore);
  r.forget(12345);
  r.forget(-1);
}

TEST(reactor, shut_down_drops_what_is_pending) {
  auto held = std::make_shared<int>(1);
  reactor r(ignore);
  r.at(r.now() + 1h, [held] {});
  r.shut_down();
  EXPECT_EQ(held.use_count(), 1);
  r.shut_down();
}

TEST(reactor, one_that_was_never_used_ends_without_having_begun) { reactor r(ignore); }

}  // namespace
}  // namespace holdfast::detail
