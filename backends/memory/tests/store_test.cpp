#include "memory_fixture.hpp"

namespace holdfast::memory_tests {
namespace {

TEST_F(memory_store, other_stores_know_nothing_of_it) {
  member elsewhere(clock, own_url() + "_other");
  one.take(mutex_claim());
  elsewhere.take(mutex_claim());
  EXPECT_NE(elsewhere.store->identity(), one.store->identity());
  EXPECT_EQ(two.store->identity(), one.store->identity());
}

TEST_F(memory_store, everything_is_supported) {
  const auto can = one.store->supports();
  EXPECT_TRUE(can.mutex && can.shared_mutex && can.permits && can.semaphore && can.latch && can.cell && can.fence &&
              can.fifo && can.raise_token);
}

TEST_F(memory_store, urls_with_hosts_or_options_are_refused) {
  for (const char* url : {"memory:a?x=1", "memory://host/a", "memory://user@host"}) {
    const auto made = open_store(url, one.engine);
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.error().code, errc::invalid_argument) << url;
  }
}

TEST_F(memory_store, inspect_shows_holders_and_waiters_in_order) {
  const auto r = reader("b/1"), w1 = writer("b/1"), w2 = writer("b/1");
  const auto grant = one.take(r);
  ASSERT_TRUE(two.is_busy(w1));
  ASSERT_TRUE(two.is_busy(w2));
  one.take(mutex_claim("b/0"));
  one.take(mutex_claim("c"));
  clock.advance(4s);
  const auto shown = two.inspect("b/");
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].name, "b/0");
  EXPECT_EQ(shown[0].kind, "mutex");
  const entry& e = shown[1];
  EXPECT_EQ(e.kind, "shared_mutex");
  ASSERT_EQ(e.holders.size(), 1u);
  const participant& holder = e.holders[0];
  EXPECT_EQ(holder.owner, r.id.hex());
  EXPECT_EQ(holder.token, grant.first_token);
  EXPECT_EQ(holder.host, "machine");
  EXPECT_EQ(holder.pid, 4711);
  EXPECT_EQ(holder.client_name, "first");
  EXPECT_EQ(holder.remaining, 6s);
  EXPECT_TRUE(holder.shared);
  EXPECT_LE(holder.since, std::chrono::system_clock::now() - 4s);
  ASSERT_EQ(e.waiters.size(), 2u);
  EXPECT_EQ(e.waiters[0].owner, w1.id.hex());
  EXPECT_EQ(e.waiters[1].owner, w2.id.hex());
  EXPECT_FALSE(e.waiters[0].shared);
}

TEST_F(memory_store, expired_grants_are_not_shown) {
  one.take(mutex_claim());
  clock.advance(10s);
  EXPECT_TRUE(one.inspect().empty());
}

TEST_F(memory_store, evicting_tells_the_holders_and_lets_the_next_in) {
  const auto r1 = reader(), r2 = reader(), w = writer();
  one.take(r1);
  two.take(r2);
  ASSERT_TRUE(two.is_busy(w));
  // The holder must know before the next one is in.
  std::size_t told = 0;
  two.store->watch(w, [&](result<spi::wake>) { told = one.engine.lost_so_far().size(); });
  EXPECT_TRUE(two.evict("a"));
  EXPECT_EQ(told, 1u);
  ASSERT_EQ(two.engine.lost_so_far().size(), 1u);
  EXPECT_EQ(two.engine.lost_so_far()[0], std::make_pair(r2.id, loss::taken));
  EXPECT_EQ(one.renew(r1).what, spi::renewal::lost);
  EXPECT_FALSE(one.leave(r1));
  two.take(w);
}

TEST_F(memory_store, evicting_what_nobody_holds_is_false) { EXPECT_FALSE(one.evict("nothing")); }

TEST_F(memory_store, grants_outlive_their_client_until_their_ttl) {
  {
    member third(clock, own_url(), "third");
    third.take(mutex_claim());
    ASSERT_TRUE(third.is_busy(mutex_claim()));
  }
  const auto shown = one.inspect();
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].holders.at(0).client_name, "third");
  EXPECT_TRUE(shown[0].waiters.empty());
  EXPECT_TRUE(one.evict("a"));  // its engine is gone: nobody is told, nothing is touched
  one.take(mutex_claim());
}

TEST_F(memory_store, a_client_that_goes_makes_way_for_those_behind_it) {
  const auto r1 = reader(), r2 = reader();
  answer<spi::wake> woken;
  one.take(r1);
  {
    member third(clock, own_url(), "third");
    ASSERT_TRUE(third.is_busy(writer()));
    ASSERT_TRUE(two.is_busy(r2));
    two.store->watch(r2, woken.slot());
  }
  EXPECT_TRUE(was_granted(woken));
}

TEST_F(memory_store, observers_hear_of_changes_until_they_end) {
  int heard = 0;
  const auto end = one.store->observe("a", [&] { ++heard; });
  const auto held = mutex_claim("abc");
  two.take(held);
  EXPECT_EQ(heard, 1);
  two.leave(held);
  EXPECT_EQ(heard, 2);
  two.take(mutex_claim("b"));
  EXPECT_EQ(heard, 2);
  end();
  two.take(held);
  EXPECT_EQ(heard, 2);
}

TEST_F(memory_store, an_observer_may_end_itself) {
  std::function<void()> end;
  int heard = 0;
  end = one.store->observe("", [&] {
    ++heard;
    end();
  });
  two.take(mutex_claim("a"));
  two.take(mutex_claim("b"));
  EXPECT_EQ(heard, 1);
}

TEST_F(memory_store, tokens_grow_although_idle_names_are_thrown_out) {
  const auto held = mutex_claim("first");
  const auto before = one.take(held, 100);
  one.leave(held);
  for (int i = 0; i != 50'000; ++i) {
    const auto other = mutex_claim("other/" + std::to_string(i));
    one.take(other);
    one.leave(other);
  }
  EXPECT_GE(one.take(mutex_claim("first")).first_token.value(), before.first_token.value() + 100);
}

TEST_F(memory_store, cells_change_only_from_the_version_expected) {
  const auto load = [&] {
    answer<spi::cell_value> said;
    one.store->load_cell("c", spi::caller::must_not_block, said.slot());
    return said.get().value();
  };
  const auto exchange = [&](std::uint64_t expected, std::string value, spi::owner_id id) {
    answer<bool> said;
    two.store->exchange_cell("c", expected, std::move(value), id, spi::caller::must_not_block, said.slot());
    return said.get().value();
  };
  EXPECT_EQ(load().version, 0u);
  const auto id = spi::owner_id::random();
  EXPECT_TRUE(exchange(0, "x", id));
  EXPECT_TRUE(exchange(0, "x", id));  // the same request again
  EXPECT_FALSE(exchange(0, "y", spi::owner_id::random()));
  EXPECT_EQ(load().value, "x");
  EXPECT_EQ(load().version, 1u);
  EXPECT_TRUE(exchange(1, "", spi::owner_id::random()));
  EXPECT_EQ(load().version, 2u);
}

TEST_F(memory_store, a_fence_only_grows) {
  const auto admit = [&](std::uint64_t token) {
    answer<fencing_token> said;
    one.store->admit("f", token, spi::caller::must_not_block, said.slot());
    return said.get().value().value();
  };
  EXPECT_EQ(admit(0), 0u);
  EXPECT_EQ(admit(7), 7u);
  EXPECT_EQ(admit(5), 7u);
  EXPECT_EQ(admit(0), 7u);
}

}  // namespace
}  // namespace holdfast::memory_tests
