#include <holdfast/testing/conformance.hpp>
#include <holdfast/testing/scale.hpp>

#include <atomic>
#include <filesystem>
#include <iterator>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

}  // namespace

TEST_P(pending_contenders, ten_thousand_pending_acquisitions_cost_no_threads_and_are_all_served) {
  // A sanitizer may run a thread of its own beside the test's.
  const auto foreign = threads_now() - 1;
  const int count = scaled(10'000);
  const std::string name = unique_name("pending");
  const client c = connect();
  mutex m(c, name);
  std::atomic<int> served{0};
  std::atomic<int> failures{0};
  lease held = m.acquire();
  for (int i = 0; i < count; ++i) {
    m.async_acquire().then([&](result<lease> got) {
      if (!got || !got->release()) ++failures;
      ++served;
    });
  }
  EXPECT_LT(threads_now() - foreign, 8 + store().client_library_threads());
  EXPECT_EQ(served, 0);
  ASSERT_TRUE(succeeded(held.release()));
  ASSERT_TRUE(eventually([&] { return served == count; }, 100s)) << served << " of " << count;
  EXPECT_LT(threads_now() - foreign, 8 + store().client_library_threads());
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(pending_contenders, a_thousand_pending_acquisitions_are_all_cancelled_by_one_stop) {
  const int count = scaled(1000);
  const std::string name = unique_name("stopped");
  const client c = connect();
  mutex m(c, name);
  std::stop_source stop;
  std::atomic<int> cancelled{0};
  lease held = m.acquire();
  for (int i = 0; i < count; ++i) {
    m.async_acquire({}, stop.get_token()).then([&](result<lease> got) {
      if (!got && got.error().code == make_error_code(errc::cancelled)) ++cancelled;
    });
  }
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return cancelled == count; })) << cancelled << " of " << count;
  EXPECT_TRUE(nobody_waits(c, name));
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(pending_contenders, a_thousand_pending_acquisitions_time_out_in_time) {
  const int count = scaled(1000);
  const std::string name = unique_name("timed");
  const client c = connect();
  mutex m(c, name);
  std::atomic<int> timed_out{0};
  const lease held = m.acquire();
  for (int i = 0; i < count; ++i) {
    m.async_acquire({.wait = 100ms}).then([&](result<lease> got) {
      if (!got && got.error().code == make_error_code(errc::timed_out)) ++timed_out;
    });
  }
  EXPECT_TRUE(eventually([&] { return timed_out == count; })) << timed_out << " of " << count;
  EXPECT_TRUE(nobody_waits(c, name));
}

TEST_P(pending_contenders, a_fair_queue_holds_many) {
  if (!supports().fifo) GTEST_SKIP() << "this store has no fair queue";
  const int count = scaled(500);
  const std::string name = unique_name("fair");
  const client c = connect();
  mutex m(c, name, {.order = ordering::fifo});
  std::atomic<int> served{0};
  lease held = m.acquire();
  for (int i = 0; i < count; ++i) {
    m.async_acquire().then([&](result<lease> got) { served += got.has_value() ? 1 : 0; });
  }
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(eventually([&] { return served == count; }, 100s)) << served << " of " << count;
}

}  // namespace holdfast::testing
