#include "file_fixture.hpp"

#include <thread>

namespace holdfast::file_tests {
namespace {

TEST_F(file_store, readers_share_and_writers_do_not) {
  const auto r1 = reader(), r2 = reader(), w = writer();
  one.take(r1);
  two.take(r2);
  EXPECT_TRUE(two.is_busy(w));
  one.leave(r1);
  EXPECT_TRUE(two.is_busy(w));
  two.leave(r2);
  two.take(w);
  EXPECT_TRUE(one.is_busy(reader()));
}

TEST_F(file_store, a_reader_does_not_overtake_a_waiting_writer) {
  const auto r1 = reader(), w = writer(), r2 = reader(), r3 = reader();
  one.take(r1);
  ASSERT_TRUE(two.is_busy(w, true));
  EXPECT_TRUE(one.is_busy(r2, true));
  EXPECT_TRUE(one.is_busy(r3, true));
  one.leave(r1);
  EXPECT_TRUE(one.is_busy(r2, true));
  two.take(w);
  two.leave(w);
  one.take(r2);
  one.take(r3);  // both came in together
}

TEST_F(file_store, a_reader_that_comes_in_wakes_the_one_behind_it) {
  const auto w = writer(), r1 = reader(), r2 = reader();
  one.take(w);
  ASSERT_TRUE(one.is_busy(r1, true));
  ASSERT_TRUE(two.is_busy(r2, true));
  answer<spi::wake> woken;
  two.store->watch(r2, woken.slot());
  one.leave(w);
  one.take(r1);
  EXPECT_TRUE(looks_again(woken));
  two.take(r2);
}

TEST_F(file_store, a_downgrade_lets_readers_in_and_no_writer) {
  const auto w = writer(), r = reader();
  const auto grant = one.take(w);
  ASSERT_TRUE(two.is_busy(r, true));
  answer<spi::wake> woken;
  two.store->watch(r, woken.slot());
  EXPECT_TRUE(one.convert(w, spi::access::shared).value());
  EXPECT_TRUE(looks_again(woken));
  two.take(r);
  EXPECT_TRUE(two.is_busy(writer()));
  EXPECT_EQ(one.renew(w), spi::renewal::renewed);
  const auto shown = one.inspect().at(0);
  EXPECT_EQ(shown.kind, "shared_mutex");
  ASSERT_EQ(shown.holders.size(), 2u);
  EXPECT_TRUE(shown.holders[0].shared && shown.holders[1].shared);
  EXPECT_TRUE(shown.holders[0].token == grant.first_token || shown.holders[1].token == grant.first_token);
}

TEST_F(file_store, only_the_sole_reader_with_nobody_ahead_upgrades) {
  const auto r1 = reader(), r2 = reader(), w = writer();
  one.take(r1);
  two.take(r2);
  EXPECT_FALSE(one.convert(r1, spi::access::exclusive).value());
  EXPECT_EQ(one.renew(r1), spi::renewal::renewed);
  two.leave(r2);
  ASSERT_TRUE(two.is_busy(w, true));
  EXPECT_FALSE(one.convert(r1, spi::access::exclusive).value());
  two.leave(w);
  EXPECT_TRUE(one.convert(r1, spi::access::exclusive).value());
  EXPECT_TRUE(two.is_busy(reader()));
  EXPECT_EQ(one.renew(r1), spi::renewal::renewed);
  const auto shown = two.inspect().at(0);
  ASSERT_EQ(shown.holders.size(), 1u);
  EXPECT_EQ(shown.holders[0].owner, r1.id.hex());
  EXPECT_FALSE(shown.holders[0].shared);
  EXPECT_TRUE(one.convert(r1, spi::access::shared).value());
  two.take(r2);
}

TEST_F(file_store, converting_what_is_not_held_fails_as_lost) {
  EXPECT_EQ(one.convert(reader(), spi::access::exclusive).error().code, errc::lost);
}

TEST_F(file_store, readers_and_writers_lose_no_update) {
  constexpr int threads = 6, rounds = 200;
  int counter = 0;
  std::atomic<int> inside{0};
  std::atomic<bool> mixed{false};
  {
    std::vector<std::jthread> all;
    for (int t = 0; t != threads; ++t) {
      all.emplace_back([&, t] {
        member& mine = t % 2 == 0 ? one : two;
        for (int i = 0; i != rounds; ++i) {
          const auto c = i % 2 == 0 ? writer() : reader();
          t % 3 == 0 ? mine.wait_by_watching(c) : mine.wait(c);
          if (c.access == spi::access::exclusive) {
            if (inside.fetch_add(100) != 0) mixed = true;
            ++counter;
            inside -= 100;
          } else {
            if (inside.fetch_add(1) >= 100) mixed = true;
            inside -= 1;
          }
          mine.leave(c);
        }
      });
    }
  }
  EXPECT_EQ(counter, threads * rounds / 2);
  EXPECT_FALSE(mixed);
  EXPECT_TRUE(one.inspect().empty());
}

TEST_F(file_store, permits_are_taken_together_or_not_at_all) {
  const auto a = permits_claim(2, 4), b = permits_claim(1, 4), c = permits_claim(1, 4);
  one.take(a);
  two.take(b);
  EXPECT_TRUE(two.is_busy(permits_claim(2, 4)));
  two.take(c);
  EXPECT_TRUE(one.is_busy(permits_claim(1, 4)));
  two.leave(b);
  one.take(permits_claim(1, 4));
  EXPECT_TRUE(one.is_busy(permits_claim(1, 4)));
}

TEST_F(file_store, permits_freed_in_pieces_are_taken_together) {
  const auto a = permits_claim(1, 5), b = permits_claim(1, 5), c = permits_claim(1, 5), d = permits_claim(1, 5);
  for (const auto& each : {a, b, c, d}) one.take(each);
  one.leave(a);
  one.leave(c);
  const auto three = permits_claim(3, 5);  // slots 0, 2 and 4
  two.take(three);
  EXPECT_TRUE(one.is_busy(permits_claim(1, 5)));
  const auto shown = one.inspect().at(0);
  EXPECT_EQ(shown.kind, "permit_semaphore");
  ASSERT_EQ(shown.holders.size(), 3u);
  EXPECT_EQ(shown.holders[0].permits, 3u);
  EXPECT_EQ(shown.holders[0].owner, three.id.hex());
  EXPECT_EQ(shown.holders[1].permits, 1u);
}

TEST_F(file_store, a_claim_for_many_permits_is_not_overtaken_by_small_ones) {
  const auto held = permits_claim(3, 4), big = permits_claim(3, 4), small = permits_claim(1, 4);
  one.take(held);
  ASSERT_TRUE(two.is_busy(big, true));
  EXPECT_TRUE(one.is_busy(small, true));
  answer<spi::wake> woken;
  two.store->watch(big, woken.slot());
  one.leave(held);
  EXPECT_TRUE(looks_again(woken));
  two.take(big);
  one.take(small);
}

TEST_F(file_store, another_number_of_permits_is_refused_while_in_use) {
  const auto held = permits_claim(1, 4);
  one.take(held);
  const auto said = two.enter(permits_claim(1, 5));
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().code, errc::rejected);
  EXPECT_NE(said.error().detail.find("'a' is in use with 4 permits"), std::string::npos) << said.error().detail;
  one.leave(held);
  two.take(permits_claim(1, 5));
}

TEST_F(file_store, more_permits_than_there_are_is_an_invalid_argument) {
  EXPECT_EQ(one.enter(permits_claim(5, 4)).error().code, errc::invalid_argument);
}

TEST_F(file_store, every_other_kind_is_refused_while_in_use) {
  const std::vector<spi::claim> kinds{mutex_claim(), writer(), reader(), permits_claim(1, 3)};
  for (const auto& present : kinds) {
    one.take(present);
    for (auto wanted : kinds) {
      if (wanted.kind == present.kind) continue;
      wanted.id = spi::owner_id::random();
      for (const bool queue : {false, true}) {
        const auto said = two.enter(wanted, queue);
        ASSERT_FALSE(said) << to_string(present.kind) << " and " << to_string(wanted.kind);
        EXPECT_EQ(said.error().code, errc::rejected);
        const std::string text = "'a' is in use as a " + std::string(to_string(present.kind)) + "; it cannot be a " +
                                 to_string(wanted.kind) + " at the same time";
        EXPECT_EQ(said.error().detail, text);
      }
      if (wanted.kind != spi::kind::permits) {
        EXPECT_EQ(two.enter(wanted, true, 1, spi::caller::waits).error().code, errc::rejected);
      }
    }
    one.leave(present);
  }
  EXPECT_TRUE(one.inspect().empty());
}

}  // namespace
}  // namespace holdfast::file_tests
