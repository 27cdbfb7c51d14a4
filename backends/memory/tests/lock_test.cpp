#include "memory_fixture.hpp"

namespace holdfast::memory_tests {
namespace {

TEST_F(memory_store, a_mutex_has_one_owner) {
  const auto first = mutex_claim(), second = mutex_claim();
  one.take(first);
  EXPECT_TRUE(two.is_busy(second, false));
  EXPECT_TRUE(one.leave(first));
  two.take(second);
}

TEST_F(memory_store, a_busy_answer_without_queue_leaves_nothing) {
  const auto first = mutex_claim(), second = mutex_claim();
  one.take(first);
  ASSERT_TRUE(two.is_busy(second, false));
  EXPECT_TRUE(two.inspect().at(0).waiters.empty());
  EXPECT_FALSE(two.leave(second));
}

TEST_F(memory_store, entering_again_finds_the_same_grant) {
  const auto first = mutex_claim();
  const auto grant = one.take(first);
  const auto again = one.take(first);
  EXPECT_EQ(grant.first_token, again.first_token);
  EXPECT_EQ(grant.expires, again.expires);
  EXPECT_EQ(one.inspect().at(0).holders.size(), 1u);
}

TEST_F(memory_store, entering_again_keeps_the_place_in_line) {
  const auto held = mutex_claim(), first = mutex_claim(), second = mutex_claim();
  one.take(held);
  ASSERT_TRUE(one.is_busy(first));
  ASSERT_TRUE(two.is_busy(second));
  ASSERT_TRUE(one.is_busy(first));
  one.leave(held);
  EXPECT_TRUE(two.is_busy(second));
  one.take(first);
}

TEST_F(memory_store, leaving_hands_over_to_the_first_in_line_and_tells_its_watch) {
  const auto held = mutex_claim(), first = mutex_claim(), second = mutex_claim();
  const auto before = one.take(held);
  ASSERT_TRUE(two.is_busy(first));
  ASSERT_TRUE(two.is_busy(second));
  answer<spi::wake> first_woken, second_woken;
  two.store->watch(first, first_woken.slot());
  two.store->watch(second, second_woken.slot());
  clock.advance(1s);
  one.leave(held);
  ASSERT_TRUE(was_granted(first_woken));
  EXPECT_FALSE(second_woken.came());
  const auto grant = std::get<spi::granted>(*first_woken.get());
  EXPECT_GT(grant.first_token, before.first_token);
  EXPECT_EQ(grant.expires, clock.now() + 10s);
  two.leave(first);
  EXPECT_TRUE(was_granted(second_woken));
}

TEST_F(memory_store, a_watch_set_after_the_handover_completes_at_once) {
  const auto held = mutex_claim(), next = mutex_claim();
  one.take(held);
  ASSERT_TRUE(two.is_busy(next));
  one.leave(held);
  answer<spi::wake> woken;
  two.store->watch(next, woken.slot());
  EXPECT_TRUE(was_granted(woken));
}

TEST_F(memory_store, a_watch_of_an_unknown_claim_says_look_again) {
  answer<spi::wake> woken;
  one.store->watch(mutex_claim(), woken.slot());
  EXPECT_TRUE(looks_again(woken));
}

TEST_F(memory_store, leaving_the_line_ends_the_watch_and_frees_the_place) {
  const auto held = mutex_claim(), next = mutex_claim(), last = mutex_claim();
  one.take(held);
  ASSERT_TRUE(two.is_busy(next));
  ASSERT_TRUE(two.is_busy(last));
  answer<spi::wake> woken;
  two.store->watch(next, woken.slot());
  EXPECT_TRUE(two.leave(next));
  EXPECT_TRUE(looks_again(woken));
  EXPECT_FALSE(two.leave(next));
  one.leave(held);
  two.take(last);
}

TEST_F(memory_store, tokens_grow_over_release_and_come_in_blocks) {
  const auto first = mutex_claim();
  const auto block = one.take(first, 5);
  EXPECT_EQ(block.tokens, 5u);
  one.leave(first);
  EXPECT_GE(one.take(mutex_claim()).first_token.value(), block.first_token.value() + 5);
}

TEST_F(memory_store, an_expired_grant_gives_way_at_the_time_it_said) {
  const auto first = mutex_claim(), second = mutex_claim();
  const auto grant = one.take(first);
  const auto said = two.enter(second);
  ASSERT_TRUE(said && std::holds_alternative<spi::busy>(*said));
  EXPECT_EQ(std::get<spi::busy>(*said).look_again, grant.expires);
  clock.advance(10s);
  EXPECT_GT(two.take(second).first_token, grant.first_token);
  EXPECT_EQ(one.renew(first).what, spi::renewal::lost);
  EXPECT_FALSE(one.leave(first));
}

TEST_F(memory_store, renewing_moves_the_end) {
  const auto first = mutex_claim();
  one.take(first);
  clock.advance(9s);
  const auto renewed = one.renew(first);
  EXPECT_EQ(renewed.what, spi::renewal::renewed);
  EXPECT_EQ(renewed.expires, clock.now() + 10s);
  clock.advance(9s);
  EXPECT_TRUE(two.is_busy(mutex_claim(), false));
}

TEST_F(memory_store, a_grant_whose_time_is_over_cannot_be_renewed) {
  const auto first = mutex_claim();
  one.take(first);
  clock.advance(10s);
  EXPECT_EQ(one.renew(first).what, spi::renewal::lost);
}

TEST_F(memory_store, readers_share_and_writers_do_not) {
  const auto r1 = reader(), r2 = reader(), w = writer();
  one.take(r1);
  two.take(r2);
  EXPECT_TRUE(two.is_busy(w, false));
  one.leave(r1);
  EXPECT_TRUE(two.is_busy(w, false));
  two.leave(r2);
  two.take(w);
  EXPECT_TRUE(one.is_busy(reader(), false));
}

TEST_F(memory_store, a_reader_does_not_overtake_a_waiting_writer) {
  const auto r1 = reader(), w = writer(), r2 = reader(), r3 = reader(), w2 = writer();
  one.take(r1);
  ASSERT_TRUE(two.is_busy(w));
  ASSERT_TRUE(one.is_busy(r2));
  ASSERT_TRUE(one.is_busy(r3));
  ASSERT_TRUE(one.is_busy(w2));
  one.leave(r1);
  EXPECT_TRUE(one.is_busy(r2));
  two.leave(w);
  one.take(r2);  // both readers came in together, the second writer waits
  one.take(r3);
  EXPECT_TRUE(one.is_busy(w2));
}

TEST_F(memory_store, readers_behind_a_writer_that_gives_up_come_in) {
  const auto r1 = reader(), w = writer(), r2 = reader();
  one.take(r1);
  ASSERT_TRUE(two.is_busy(w));
  ASSERT_TRUE(one.is_busy(r2));
  answer<spi::wake> woken;
  one.store->watch(r2, woken.slot());
  two.leave(w);
  EXPECT_TRUE(was_granted(woken));
}

TEST_F(memory_store, downgrading_lets_waiting_readers_in) {
  const auto w = writer(), r = reader();
  one.take(w);
  ASSERT_TRUE(two.is_busy(r));
  answer<spi::wake> woken;
  two.store->watch(r, woken.slot());
  EXPECT_TRUE(one.convert(w, spi::access::shared).value());
  EXPECT_TRUE(was_granted(woken));
  EXPECT_TRUE(two.is_busy(writer(), false));
}

TEST_F(memory_store, only_the_sole_reader_with_nobody_ahead_upgrades) {
  const auto r1 = reader(), r2 = reader(), w = writer();
  one.take(r1);
  two.take(r2);
  EXPECT_FALSE(one.convert(r1, spi::access::exclusive).value());
  two.leave(r2);
  ASSERT_TRUE(two.is_busy(w));
  EXPECT_FALSE(one.convert(r1, spi::access::exclusive).value());
  two.leave(w);
  EXPECT_TRUE(one.convert(r1, spi::access::exclusive).value());
  EXPECT_TRUE(two.is_busy(reader(), false));
}

TEST_F(memory_store, converting_what_is_not_held_fails_as_lost) {
  const auto r = reader();
  EXPECT_EQ(one.convert(r, spi::access::exclusive).error().code, errc::lost);
  one.take(r);
  clock.advance(10s);
  EXPECT_EQ(one.convert(r, spi::access::exclusive).error().code, errc::lost);
}

TEST_F(memory_store, permits_are_taken_together_or_not_at_all) {
  const auto p2 = permits_claim(2, 4), q2 = permits_claim(2, 4);
  one.take(p2);
  EXPECT_TRUE(two.is_busy(permits_claim(3, 4), false));
  two.take(q2);
  EXPECT_TRUE(one.is_busy(permits_claim(1, 4), false));
  one.leave(p2);
  one.take(permits_claim(1, 4));
}

TEST_F(memory_store, a_small_claim_for_permits_does_not_overtake_a_big_one) {
  const auto held = permits_claim(3, 4), big = permits_claim(3, 4), small = permits_claim(1, 4);
  one.take(held);
  ASSERT_TRUE(two.is_busy(big));
  EXPECT_TRUE(one.is_busy(small));
  one.leave(held);
  two.take(big);
  one.take(small);
}

TEST_F(memory_store, another_number_of_permits_is_refused_while_in_use) {
  const auto held = permits_claim(1, 4);
  one.take(held);
  const auto said = two.enter(permits_claim(1, 5));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, errc::rejected);
  EXPECT_NE(said.error().detail.find("4"), std::string::npos);
  one.leave(held);
  two.take(permits_claim(1, 5));
}

TEST_F(memory_store, more_permits_than_there_are_is_an_invalid_argument) {
  EXPECT_EQ(one.enter(permits_claim(5, 4)).error().code, errc::invalid_argument);
}

TEST_F(memory_store, another_kind_is_refused_while_in_use) {
  const auto held = mutex_claim("orders");
  one.take(held);
  const auto said = two.enter(reader("orders"));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, errc::rejected);
  for (const char* part : {"orders", "shared_mutex", "'orders' is in use as a mutex"}) {
    EXPECT_NE(said.error().detail.find(part), std::string::npos) << said.error().detail;
  }
  one.leave(held);
  two.take(reader("orders"));
}

TEST_F(memory_store, raising_moves_every_later_token) {
  const auto held = mutex_claim();
  one.take(held);
  answer<bool> said;
  one.store->raise(held, 1'000'000, spi::caller::must_not_block, said.slot());
  EXPECT_TRUE(said.get().value());
  one.leave(held);
  EXPECT_GT(two.take(mutex_claim()).first_token, fencing_token(1'000'000));
  answer<bool> late;
  one.store->raise(held, 5, spi::caller::must_not_block, late.slot());
  EXPECT_EQ(late.get().error().code, errc::lost);
}

}  // namespace
}  // namespace holdfast::memory_tests
