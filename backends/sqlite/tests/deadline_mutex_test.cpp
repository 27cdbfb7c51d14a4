#include "deadline_mutex.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace holdfast::sqlite_tests {

using namespace std::chrono_literals;
using sqlite::deadline_mutex;

TEST(deadline_mutex_test, waiting_ends_at_the_deadline_or_when_it_is_free) {
  deadline_mutex m;
  m.lock();
  EXPECT_FALSE(m.try_lock());
  EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::now() + 5ms));
  std::thread patient([&] {
    EXPECT_TRUE(m.try_lock_until(std::chrono::steady_clock::now() + 30s));
    m.unlock();
  });
  m.unlock();
  patient.join();
  EXPECT_TRUE(m.try_lock());
}

TEST(deadline_mutex_test, one_at_a_time_is_inside) {
  deadline_mutex m;
  long counted = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        std::lock_guard inside(m);
        ++counted;
      }
    });
  }
  for (auto& t : all) t.join();
  EXPECT_EQ(counted, 4 * 2000);
}

}  // namespace holdfast::sqlite_tests
