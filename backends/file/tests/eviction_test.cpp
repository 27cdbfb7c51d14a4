#include "file_fixture.hpp"

#include <holdfast/testing/holder_process.hpp>

#include <fstream>
#include <thread>

namespace holdfast::file_tests {
namespace {

using holdfast::testing::holder_process;

// Renewed every ten seconds: who hears of something within this has been told.
constexpr auto told_at_once = 3s;

bool is_told(holder_process& evicted) {
  return eventually([&] { return evicted.ask("lost") == "yes"; }, told_at_once) &&
         evicted.ask("cause") == std::to_string(static_cast<int>(loss::taken));
}

bool waits(member& looking, std::size_t waiters = 1) {
  return eventually([&] {
    const auto seen = looking.inspect();
    return !seen.empty() && seen[0].waiters.size() == waiters;
  });
}

TEST_F(file_store, an_evicted_process_is_told_at_once_and_the_next_has_a_greater_token) {
  holder_process other = holder_process::connected(url());
  const auto before = other.granted("acquire mutex a");
  const auto next = mutex_claim();
  ASSERT_TRUE(two.is_busy(next, true));
  EXPECT_TRUE(one.evict("a").value());
  EXPECT_GT(two.wait_by_watching(next).first_token.value(), before);
  EXPECT_TRUE(one.is_busy(mutex_claim()));
  EXPECT_TRUE(is_told(other));
  EXPECT_EQ(other.ask("try mutex a"), "busy") << "the evicted one uses the new file too";
  two.leave(next);
  EXPECT_GT(other.granted("acquire mutex a"), before);
}

TEST_F(file_store, a_process_that_has_held_for_long_is_told_at_once_of_its_eviction) {
  holder_process other = holder_process::connected(url());
  other.granted("acquire shared_mutex a");
  // By then it listens; nothing outside shows it.
  ASSERT_FALSE(eventually([&] { return !one.is_busy(writer()); }, 100ms)) << "nobody evicts it yet";
  EXPECT_TRUE(one.evict("a").value());
  EXPECT_TRUE(is_told(other));
}

TEST_F(file_store, who_blocks_in_the_kernel_gets_in_after_an_eviction) {
  holder_process other = holder_process::connected(url());
  const auto before = other.granted("acquire mutex a");
  std::promise<spi::granted> got;
  std::jthread waiter([&] { got.set_value(one.wait(mutex_claim())); });
  auto future = got.get_future();
  ASSERT_TRUE(waits(two));
  EXPECT_TRUE(two.evict("a").value());
  ASSERT_EQ(future.wait_for(told_at_once), std::future_status::ready);
  EXPECT_GT(future.get().first_token.value(), before);
}

TEST_F(file_store, a_stopped_holder_can_be_evicted) {
  const auto earlier = writer();
  one.take(earlier);
  one.leave(earlier);  // leaves a file open that will be the old one
  holder_process other = holder_process::connected(url());
  const auto before = other.granted("acquire shared_mutex a");
  const auto first = writer(), second = writer();
  ASSERT_TRUE(two.is_busy(first, true));
  ASSERT_TRUE(two.is_busy(second, true));
  other.pause();
  EXPECT_TRUE(one.evict("a").value());
  const auto mine = writer();
  EXPECT_GT(one.take(mine).first_token.value(), before);
  std::jthread later([&] { two.wait_by_watching(first), two.leave(first); });
  one.leave(mine);
  two.wait_by_watching(second);
  two.leave(second);
  other.resume();
  EXPECT_TRUE(is_told(other));
  EXPECT_EQ(other.ask("renew").substr(0, 7), "error " + std::to_string(static_cast<int>(errc::lost)));
}

TEST_F(file_store, permits_and_readers_of_several_processes_are_evicted_together) {
  holder_process other = holder_process::connected(url());
  other.granted("acquire reader a");
  const auto ours = reader();
  one.take(ours);
  EXPECT_TRUE(two.evict("a").value());
  EXPECT_TRUE(is_told(other));
  EXPECT_EQ(one.engine.lost_so_far(), (std::vector<std::pair<spi::owner_id, loss>>{{ours.id, loss::taken}}));
  EXPECT_EQ(one.renew(ours), spi::renewal::lost);
  two.take(writer());
}

TEST_F(file_store, a_removed_lock_file_is_noticed_at_once) {
  const auto held = mutex_claim(), elsewhere = mutex_claim("b");
  one.take(held);
  one.take(elsewhere);
  std::filesystem::remove(path() / "a");
  EXPECT_TRUE(eventually([&] { return !one.engine.lost_so_far().empty(); }, told_at_once));
  EXPECT_EQ(one.engine.lost_so_far(), (std::vector<std::pair<spi::owner_id, loss>>{{held.id, loss::taken}}));
}

TEST_F(file_store, what_an_evictor_left_when_it_was_killed_is_used_again) {
  std::ofstream(path() / ".evicting") << std::string(10000, 'x');
  holder_process other = holder_process::connected(url());
  const auto before = other.granted("acquire mutex a");
  EXPECT_TRUE(one.evict("a").value());
  EXPECT_FALSE(std::filesystem::exists(path() / ".evicting"));
  EXPECT_EQ(one.evict("a").value(), false);
  EXPECT_GT(one.take(mutex_claim()).first_token.value(), before);
  EXPECT_EQ(two.inspect().size(), 1U);
}

TEST_F(file_store, evictors_and_holders_all_at_once_keep_the_tokens_growing) {
  std::atomic<bool> over{false};
  std::uint64_t last = 0;
  std::jthread evicting([&] {
    while (!over) one.evict("a").value();
  });
  std::jthread evicting_too([&] {
    while (!over) two.evict("a").value();
  });
  for (int i = 0; i != 20; ++i) {
    holder_process other = holder_process::connected(url());
    const auto token = other.granted("acquire mutex a");
    EXPECT_GT(token, last);
    last = token;
    EXPECT_TRUE(is_told(other));
  }
  over = true;
}

}  // namespace
}  // namespace holdfast::file_tests
