#include "file_fixture.hpp"

#include <holdfast/testing/holder_process.hpp>

#include <thread>

namespace holdfast::file_tests {
namespace {

using holdfast::testing::holder_process;

TEST_F(file_store, a_killed_holder_frees_the_lock_for_who_blocks) {
  holder_process other = holder_process::connected(url());
  const auto before = other.granted("acquire mutex a");
  std::promise<spi::granted> got;
  std::jthread waiter([&] { got.set_value(one.wait(mutex_claim())); });
  auto future = got.get_future();
  ASSERT_TRUE(eventually([&] { return !two.inspect().empty() && !two.inspect()[0].waiters.empty(); }));
  other.kill();
  ASSERT_EQ(future.wait_for(2s), std::future_status::ready);
  EXPECT_GT(future.get().first_token.value(), before);
}

TEST_F(file_store, a_killed_holder_frees_the_lock_for_who_watches) {
  holder_process other = holder_process::connected(url());
  const auto before = other.granted("acquire mutex a");
  const auto c = mutex_claim();
  ASSERT_TRUE(one.is_busy(c, true));
  // Well before the look that comes without being told.
  const auto start = std::chrono::steady_clock::now();
  other.kill();
  EXPECT_GT(one.wait_by_watching(c).first_token.value(), before);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1500ms);
}

TEST_F(file_store, a_stopped_waiter_holds_up_those_behind_it_for_a_while_only) {
  const auto held = mutex_claim(), behind = mutex_claim();
  one.take(held);
  holder_process other = holder_process::connected(url());
  other.tell("acquire mutex a");
  ASSERT_TRUE(eventually([&] { return two.inspect().at(0).waiters.size() == 1; }));
  ASSERT_TRUE(two.is_busy(behind, true));
  other.pause();
  one.leave(held);
  const auto start = std::chrono::steady_clock::now();
  two.wait_by_watching(behind);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  other.resume();
  two.leave(behind);
  EXPECT_GT(other.granted_reply(), 0u);
}

TEST_F(file_store, processes_of_all_kinds_see_each_other) {
  holder_process other = holder_process::connected(url());
  other.granted("acquire mutex a");
  EXPECT_EQ(one.enter(reader()).error().code, errc::rejected);
  EXPECT_EQ(other.ask("release"), "ok");
  const auto r = reader();
  one.take(r);
  EXPECT_EQ(other.ask("try mutex a").substr(0, 7), "error " + std::to_string(static_cast<int>(errc::rejected)));
}

}  // namespace
}  // namespace holdfast::file_tests
