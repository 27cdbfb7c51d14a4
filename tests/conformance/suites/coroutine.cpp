#include <holdfast/testing/conformance.hpp>
#include <holdfast/testing/task.hpp>

#include <string>
#include <thread>
#include <vector>

// The everyday forms of co_await, written as users write them. g++ 12.2 silently miscompiles several of them when the
// awaited call takes options that are not trivially copyable; these tests are there to notice. The one form it gets
// wrong whatever is awaited, `if (co_await x)` in a coroutine without a local at its top, is not ours to save.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

task<bool> options_and_stop(mutex& m, std::stop_token stop) {
  auto r = co_await m.async_acquire({.wait = 3s}, stop);
  co_return r.has_value() && r->valid();
}

task<bool> options_only(mutex& m) {
  auto r = co_await m.async_acquire({.wait = 3s, .ttl = 10s});
  co_return r && r->remaining() <= 10s;
}

task<bool> nothing_at_all(mutex& m) {
  auto r = co_await m.async_acquire();
  if (!r) co_return false;
  co_return r->release().has_value();
}

task<std::uint64_t> value_of_the_result(mutex& m) {
  lease held = (co_await m.async_acquire({.wait = 3s})).value();
  co_return held.token().value();
}

task<bool> a_named_operation(mutex& m) {
  auto started = m.async_acquire({.wait = 3s});
  auto r = co_await started;
  co_return r.has_value();
}

task<bool> in_a_condition(mutex& m) {
  bool inside = false;
  if (auto r = co_await m.async_acquire({.wait = 3s})) inside = r->valid();
  co_return inside;
}

task<int> in_a_loop(mutex& m, int turns) {
  int entered = 0;
  for (int i = 0; i < turns; ++i) {
    auto r = co_await m.async_acquire({.wait = live_timeout});
    if (!r) co_return -1;
    ++entered;
  }
  co_return entered;
}

task<int> until_it_is_free(mutex& m) {
  int attempts = 0;
  for (;;) {
    ++attempts;
    auto r = co_await m.async_acquire({.wait = 10ms});
    if (r) co_return attempts;
    // Or, on a busy machine, the store had not answered by then.
    const auto why = r.error().code;
    if (why != make_error_code(errc::timed_out) && why != make_error_code(errc::unavailable)) co_return -1;
  }
}

task<bool> held_over_another_await(mutex& outer, mutex& inner) {
  auto first = co_await outer.async_acquire({.wait = 3s});
  auto second = co_await inner.async_acquire({.wait = 3s});
  co_return first&& second && first->valid() && second->valid();
}

task<std::error_code> the_failure(mutex& m, acquire_options options, std::stop_token stop) {
  auto r = co_await m.async_acquire(options, std::move(stop));
  co_return r ? std::error_code() : r.error().code;
}

task<bool> throws_out_of_the_coroutine(mutex& m) {
  lease held = (co_await m.async_acquire({.wait = short_wait})).value();
  co_return held.valid();
}

task<bool> with_strings_around(mutex& m, std::string text) {
  std::string local = text + text;
  auto r = co_await m.async_acquire({.wait = 3s}, {});
  co_return r&& local == text + text && !text.empty();
}

task<bool> through_a_semaphore(counting_semaphore& s) {
  auto r = co_await s.async_acquire({.wait = 3s});
  co_return r.has_value();
}

task<bool> through_a_latch(latch& gate) {
  auto r = co_await gate.async_wait({.wait = 30s});
  co_return r.has_value();
}

task<bool> count_with_others(mutex& m, int& total, int turns) {
  for (int i = 0; i < turns; ++i) {
    auto r = co_await m.async_acquire();
    if (!r) co_return false;
    const int seen = total;
    std::this_thread::yield();
    total = seen + 1;
  }
  co_return true;
}

}  // namespace

TEST_P(coroutine_conformance, every_everyday_form_of_co_await_works_on_a_free_lock) {
  mutex m(connect(), unique_name("forms"));
  std::stop_source stop;
  EXPECT_TRUE(options_and_stop(m, stop.get_token()).get());
  EXPECT_TRUE(options_only(m).get());
  EXPECT_TRUE(nothing_at_all(m).get());
  EXPECT_GT(value_of_the_result(m).get(), 0u);
  EXPECT_TRUE(a_named_operation(m).get());
  EXPECT_TRUE(in_a_condition(m).get());
  EXPECT_EQ(in_a_loop(m, 20).get(), 20);
  EXPECT_TRUE(with_strings_around(m, "a string too long for the small buffer of std::string").get());
}

TEST_P(coroutine_conformance, every_everyday_form_of_co_await_works_on_a_lock_that_comes_free_later) {
  const std::string name = unique_name("forms-later");
  const client c = connect();
  mutex ours(connect(), name);
  mutex m(c, name);
  const auto after_release = [&](auto start) {
    lease held = ours.acquire({.wait = live_timeout});
    auto started = start();
    EXPECT_TRUE(waiting(c, name, 1));
    EXPECT_TRUE(succeeded(held.release()));
    return started.get();
  };
  EXPECT_TRUE(after_release([&] { return options_and_stop(m, {}); }));
  EXPECT_TRUE(after_release([&] { return options_only(m); }));
  EXPECT_TRUE(after_release([&] { return nothing_at_all(m); }));
  EXPECT_GT(after_release([&] { return value_of_the_result(m); }), 0u);
  EXPECT_TRUE(after_release([&] { return a_named_operation(m); }));
  EXPECT_TRUE(after_release([&] { return in_a_condition(m); }));
  EXPECT_EQ(after_release([&] { return in_a_loop(m, 5); }), 5);
  EXPECT_TRUE(after_release([&] { return with_strings_around(m, "a string too long for the small buffer"); }));
}

TEST_P(coroutine_conformance, failures_are_values) {
  const std::string name = unique_name("failures");
  mutex ours(connect(), name);
  mutex m(connect(), name);
  const lease held = ours.acquire();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(the_failure(m, {.wait = short_wait}, {}).get(), make_error_code(errc::timed_out));
  EXPECT_EQ(the_failure(m, {}, stop.get_token()).get(), make_error_code(errc::cancelled));
  EXPECT_EQ(the_failure(m, {.ttl = -1s}, {}).get(), make_error_code(errc::invalid_argument));
  EXPECT_TRUE(throws(errc::timed_out, [&] { return throws_out_of_the_coroutine(m).get(); }));
}

TEST_P(coroutine_conformance, a_coroutine_may_try_until_the_lock_is_free) {
  const std::string name = unique_name("until");
  mutex ours(connect(), name);
  mutex m(connect(), name);
  std::optional<lease> held = ours.acquire();
  auto attempts = until_it_is_free(m);
  held.reset();
  EXPECT_GE(attempts.get(), 1);
}

TEST_P(coroutine_conformance, a_lease_lives_over_another_co_await) {
  const client c = connect();
  mutex outer(c, unique_name("outer"));
  mutex inner(c, unique_name("inner"));
  EXPECT_TRUE(held_over_another_await(outer, inner).get());
  EXPECT_TRUE(nothing_left(c, outer.name()));
  EXPECT_TRUE(nothing_left(c, inner.name()));
}

TEST_P(coroutine_conformance, many_coroutines_count_exactly) {
  mutex m(connect(), unique_name("count"));
  int total = 0;  // Guarded by the mutex.
  std::vector<task<bool>> all;
  for (int i = 0; i < 20; ++i) all.push_back(count_with_others(m, total, 10));
  for (auto& one : all) EXPECT_TRUE(one.get());
  const lease held = m.acquire({.wait = live_timeout});
  EXPECT_EQ(total, 200);
}

TEST_P(coroutine_conformance, semaphores_and_latches_can_be_awaited) {
  if (!supports().semaphore || !supports().latch) GTEST_SKIP() << "this store has no counting_semaphore or latch";
  const client c = connect();
  counting_semaphore permits(c, unique_name("permits"));
  latch gate(c, unique_name("gate"));
  permits.release();
  EXPECT_TRUE(through_a_semaphore(permits).get());
  ASSERT_TRUE(gate.try_set_count(1));
  auto waits = through_a_latch(gate);
  gate.count_down();
  EXPECT_TRUE(waits.get());
}

}  // namespace holdfast::testing
