#include "file_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

namespace holdfast::file_tests {
namespace {

TEST_F(file_store, a_mutex_has_one_owner) {
  const auto first = mutex_claim(), second = mutex_claim(), third = mutex_claim();
  one.take(first);
  EXPECT_TRUE(two.is_busy(second));
  EXPECT_TRUE(one.is_busy(third)) << "two claims of one client exclude each other too";
  EXPECT_TRUE(one.leave(first));
  EXPECT_FALSE(one.leave(first));
  two.take(second);
}

TEST_F(file_store, entering_again_finds_the_same_grant) {
  const auto first = mutex_claim();
  const auto grant = one.take(first), again = one.take(first);
  EXPECT_EQ(grant.first_token, again.first_token);
  EXPECT_EQ(one.inspect().at(0).holders.size(), 1u);
}

TEST_F(file_store, a_busy_answer_without_queue_leaves_nothing) {
  const auto first = mutex_claim(), second = mutex_claim();
  one.take(first);
  ASSERT_TRUE(two.is_busy(second));
  EXPECT_TRUE(one.inspect().at(0).waiters.empty());
  EXPECT_FALSE(two.leave(second));
  one.leave(first);
  EXPECT_TRUE(one.inspect().empty());
}

TEST_F(file_store, tokens_grow_over_release_and_reopening_and_come_in_blocks) {
  const auto first = mutex_claim();
  const auto block = one.take(first, 5);
  EXPECT_EQ(block.tokens, 5u);
  one.leave(first);
  member third(url());
  EXPECT_EQ(third.take(mutex_claim()).first_token.value(), block.first_token.value() + 5);
}

TEST_F(file_store, a_release_wakes_the_watch_of_the_one_in_line) {
  const auto held = mutex_claim(), next = mutex_claim();
  one.take(held);
  ASSERT_TRUE(two.is_busy(next, true));
  answer<spi::wake> woken;
  two.store->watch(next, woken.slot());
  EXPECT_FALSE(woken.comes_within(20ms));
  one.leave(held);
  EXPECT_TRUE(looks_again(woken));
  two.take(next);
}

TEST_F(file_store, a_release_between_enter_and_watch_is_not_missed) {
  const auto held = mutex_claim(), next = mutex_claim();
  one.take(held);
  ASSERT_TRUE(two.is_busy(next, true));
  one.leave(held);
  answer<spi::wake> woken;
  two.store->watch(next, woken.slot());
  EXPECT_TRUE(looks_again(woken));
  two.take(next);
}

TEST_F(file_store, those_in_line_come_in_the_order_they_came) {
  const auto held = mutex_claim(), first = mutex_claim(), second = mutex_claim();
  one.take(held);
  ASSERT_TRUE(one.is_busy(first, true));
  ASSERT_TRUE(two.is_busy(second, true));
  one.leave(held);
  EXPECT_TRUE(two.is_busy(second, true));
  one.take(first);
  one.leave(first);
  two.take(second);
}

TEST_F(file_store, leaving_the_line_ends_the_watch_and_makes_way) {
  const auto held = mutex_claim(), first = mutex_claim(), second = mutex_claim();
  one.take(held);
  ASSERT_TRUE(one.is_busy(first, true));
  ASSERT_TRUE(two.is_busy(second, true));
  answer<spi::wake> first_woken;
  one.store->watch(first, first_woken.slot());
  EXPECT_TRUE(one.leave(first));
  EXPECT_TRUE(looks_again(first_woken));
  EXPECT_FALSE(one.leave(first));
  one.leave(held);
  two.take(second);
}

TEST_F(file_store, a_caller_that_waits_blocks_until_it_has_it) {
  const auto held = mutex_claim(), next = mutex_claim();
  const auto before = one.take(held);
  std::promise<spi::granted> got;
  std::jthread waiter([&] { got.set_value(two.wait(next)); });
  auto future = got.get_future();
  ASSERT_TRUE(eventually([&] { return !one.inspect().at(0).waiters.empty(); }));
  one.leave(held);
  ASSERT_EQ(future.wait_for(live_timeout), std::future_status::ready);
  EXPECT_GT(future.get().first_token, before.first_token);
}

TEST_F(file_store, a_releaser_lines_up_behind_those_that_wait) {
  const auto first = mutex_claim(), again = mutex_claim(), other = mutex_claim();
  one.take(first);
  ASSERT_TRUE(two.is_busy(other, true));
  one.leave(first);
  EXPECT_TRUE(one.is_busy(again, true)) << "it took the lock again before the one it woke";
  two.take(other);
  two.leave(other);
  one.take(again);
}

TEST_F(file_store, blocking_and_watching_claims_stand_in_one_line) {
  constexpr int threads = 6, rounds = 300;
  // Read and written in two steps, so that an update can be lost; atomic, because no sanitizer knows kernel locks.
  constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<int> counter{0};
  std::atomic<std::uint64_t> last_token{0};
  std::atomic<bool> ordered{true};
  std::atomic<std::chrono::nanoseconds> longest{0ns};
  {
    std::vector<std::jthread> all;
    for (int t = 0; t != threads; ++t) {
      all.emplace_back([&, t] {
        member& mine = t % 2 == 0 ? one : two;
        for (int i = 0; i != rounds; ++i) {
          const auto c = mutex_claim();
          const auto began = mine.engine.now();
          const auto grant = t < threads / 2 ? mine.wait(c) : mine.wait_by_watching(c);
          longest.store(std::max<std::chrono::nanoseconds>(longest.load(relaxed), mine.engine.now() - began), relaxed);
          counter.store(counter.load(relaxed) + 1, relaxed);
          if (grant.first_token.value() <= last_token.load(relaxed)) ordered = false;
          last_token.store(grant.first_token.value(), relaxed);
          mine.leave(c);
        }
      });
    }
  }
  EXPECT_EQ(counter, threads * rounds);
  EXPECT_TRUE(ordered);
  EXPECT_LT(longest.load(), 2s) << "somebody was not woken and went by his patience";
  EXPECT_TRUE(one.inspect().empty());
}

TEST_F(file_store, renewing_what_is_held_succeeds_and_what_was_left_is_lost) {
  const auto held = mutex_claim(), shared = reader("r"), permit = permits_claim(2, 3, "p");
  for (const auto& c : {held, shared, permit}) {
    EXPECT_EQ(one.renew(c), spi::renewal::lost);
    one.take(c);
    EXPECT_EQ(one.renew(c), spi::renewal::renewed);
    one.leave(c);
    EXPECT_EQ(one.renew(c), spi::renewal::lost);
  }
}

TEST_F(file_store, a_lock_whose_file_was_removed_is_lost_at_the_next_renewal) {
  const auto held = mutex_claim();
  one.take(held);
  std::filesystem::remove(path() / "a");
  EXPECT_EQ(one.renew(held), spi::renewal::lost);
}

TEST_F(file_store, a_file_removed_while_idle_is_made_again_for_everybody) {
  const auto before = mutex_claim();
  one.take(before);
  one.leave(before);  // its description is kept for the next claim
  std::filesystem::remove(path() / "a");
  const auto first = mutex_claim(), second = mutex_claim();
  two.take(second);
  EXPECT_TRUE(one.is_busy(first)) << "it locked the file that was removed";
}

TEST_F(file_store, waiters_move_to_the_file_that_took_the_place_of_a_removed_one) {
  const auto held = mutex_claim(), next = mutex_claim();
  one.take(held);
  ASSERT_TRUE(two.is_busy(next, true));
  answer<spi::wake> woken;
  two.store->watch(next, woken.slot());
  std::filesystem::remove(path() / "a");
  EXPECT_TRUE(looks_again(woken));
  EXPECT_EQ(std::get<spi::granted>(two.enter(next).value()).first_token, fencing_token(1)) << "a new file";
}

TEST_F(file_store, raising_moves_every_later_token) {
  const auto held = mutex_claim();
  one.take(held);
  answer<bool> said;
  one.store->raise(held, 1'000'000, spi::caller::may_block, said.slot());
  EXPECT_TRUE(said.get().value());
  EXPECT_EQ(one.renew(held), spi::renewal::renewed);
  one.leave(held);
  EXPECT_EQ(two.take(mutex_claim()).first_token, fencing_token(1'000'001));
  answer<bool> late;
  one.store->raise(held, 5, spi::caller::may_block, late.slot());
  EXPECT_EQ(late.get().error().code, errc::lost);
}

TEST_F(file_store, many_names_are_locked_one_after_another) {
  // More than the descriptions that are kept open.
  for (int round = 0; round != 2; ++round) {
    for (int i = 0; i != 200; ++i) {
      const auto c = mutex_claim("n/" + std::to_string(i));
      EXPECT_EQ(one.take(c).first_token.value(), static_cast<std::uint64_t>(round) + 1);
      one.leave(c);
    }
  }
  EXPECT_TRUE(one.inspect().empty());
}

}  // namespace
}  // namespace holdfast::file_tests
