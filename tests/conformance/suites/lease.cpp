#include <holdfast/testing/conformance.hpp>

#include <future>
#include <set>
#include <type_traits>

namespace holdfast::testing {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<lease> && !std::is_copy_assignable_v<lease>);
static_assert(std::is_nothrow_move_constructible_v<lease> && std::is_nothrow_move_assignable_v<lease>);
static_assert(std::is_nothrow_destructible_v<lease>);

TEST_P(lease_conformance, a_lease_knows_its_name_and_has_an_id_of_its_own) {
  const client c = connect();
  const std::string name = unique_name("name");
  auto lock = make(c, name);
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const lease held = lock->acquire();
    if (kind() != lock_kind::multi_mutex && kind() != lock_kind::quorum_mutex) {
      EXPECT_EQ(held.name(), name);
    }
    EXPECT_TRUE(ids.insert(held.id()).second) << "two holds, one id";
  }
}

TEST_P(lease_conformance, releasing_twice_fails_the_second_time) {
  auto lock = make(connect(), unique_name("twice"));
  lease held = lock->acquire();
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(failed(errc::not_owner, held.release()));
}

TEST_P(lease_conformance, releasing_twice_does_not_end_the_hold_of_the_next) {
  const std::string name = unique_name("twice-next");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  lease first = ours->acquire();
  ASSERT_TRUE(succeeded(first.release()));
  const lease second = theirs->acquire({.wait = live_timeout});
  EXPECT_TRUE(failed(errc::not_owner, first.release()));
  EXPECT_FALSE(make(connect(), name)->try_acquire());
  EXPECT_TRUE(second.valid());
}

TEST_P(lease_conformance, a_released_lease_is_over_but_not_lost) {
  auto lock = make(connect(), unique_name("released"));
  lease held = lock->acquire();
  const std::stop_token lost = held.lost();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.remaining(), 0ns);
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(held.loss_cause(), loss::none);
  EXPECT_TRUE(failed(errc::not_owner, held.renew()));
}

TEST_P(lease_conformance, moving_a_lease_moves_the_hold) {
  const std::string name = unique_name("moved");
  auto lock = make(connect(), name);
  lease first = lock->acquire();
  const fencing_token token = first.token();
  lease second = std::move(first);
  EXPECT_TRUE(second.valid());
  EXPECT_EQ(second.token(), token);
  EXPECT_FALSE(make(connect(), name)->try_acquire());
  EXPECT_TRUE(succeeded(second.release()));
}

TEST_P(lease_conformance, a_moved_from_lease_holds_nothing_and_every_call_fails) {
  auto lock = make(connect(), unique_name("moved-from"));
  lease first = lock->acquire();
  const lease second = std::move(first);
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(first.remaining(), 0ns);
  EXPECT_TRUE(failed(errc::not_owner, first.renew()));
  EXPECT_TRUE(failed(errc::not_owner, first.release()));
  EXPECT_TRUE(failed(errc::not_owner, first.downgrade()));
  EXPECT_TRUE(throws(errc::not_owner, [&] { return first.try_upgrade(); }));
  EXPECT_TRUE(second.valid());
}

TEST_P(lease_conformance, assigning_to_a_lease_releases_what_it_held) {
  const client c = connect();
  const std::string old_name = unique_name("old");
  const std::string new_name = unique_name("new");
  auto old_lock = make(c, old_name);
  auto new_lock = make(c, new_name);
  lease held = old_lock->acquire();
  held = new_lock->acquire();
  EXPECT_TRUE(nothing_left(c, old_name));
  EXPECT_EQ(holders(c, new_name), 1u);
  EXPECT_TRUE(held.valid());
}

TEST_P(lease_conformance, validity_ends_no_later_than_the_ttl_after_asking) {
  auto lock = make(connect(), unique_name("until"));
  const auto before = std::chrono::steady_clock::now();
  const lease held = lock->acquire({.ttl = 20s});
  const auto after = std::chrono::steady_clock::now();
  EXPECT_LE(held.valid_until(), after + 20s);
  EXPECT_GT(held.valid_until(), before + 10s) << "a drift margin, not half of the ttl";
  EXPECT_LE(held.remaining(), 20s);
  EXPECT_GT(held.remaining(), 0s);
}

TEST_P(lease_conformance, a_fixed_ttl_is_not_renewed) {
  const std::string name = unique_name("fixed");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire({.ttl = 300ms});
  EXPECT_TRUE(gets_lost(held));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.remaining(), 0ns);
  EXPECT_EQ(held.loss_cause(), loss::expired);
  const auto next = theirs->try_acquire({.wait = live_timeout});
  ASSERT_TRUE(next);
  EXPECT_GT(next->token(), held.token());
}

TEST_P(lease_conformance, nobody_gets_in_while_a_fixed_ttl_is_valid) {
  const std::string name = unique_name("fixed-excludes");
  auto ours = make(connect(), name);
  auto theirs = make(connect(), name);
  const lease held = ours->acquire({.ttl = 400ms});
  const lease next = theirs->acquire({.wait = live_timeout});
  EXPECT_FALSE(held.valid()) << "two valid leases at one time";
  EXPECT_TRUE(held.lost().stop_requested());
  EXPECT_TRUE(next.valid());
}

TEST_P(lease_conformance, an_expired_lease_tells_its_stop_callbacks) {
  auto lock = make(connect(), unique_name("callback"));
  const lease held = lock->acquire({.ttl = 100ms});
  std::promise<void> told;
  const std::stop_callback tell(held.lost(), [&] { told.set_value(); });
  EXPECT_EQ(told.get_future().wait_for(live_timeout), std::future_status::ready);
}

TEST_P(lease_conformance, renewing_an_expired_lease_fails) {
  auto lock = make(connect(), unique_name("renew-expired"));
  lease held = lock->acquire({.ttl = 50ms});
  ASSERT_TRUE(gets_lost(held));
  EXPECT_TRUE(failed(errc::lost, held.renew()));
  EXPECT_TRUE(failed(errc::lost, held.release()));
}

TEST_P(lease_conformance, renewing_starts_a_fixed_ttl_afresh) {
  auto lock = make(connect(), unique_name("renew"));
  lease held = lock->acquire({.ttl = 2s});
  ASSERT_TRUE(eventually([&] { return held.remaining() < 1800ms; }));
  const auto before = held.valid_until();
  ASSERT_TRUE(succeeded(held.renew()));
  EXPECT_GT(held.valid_until(), before);
  EXPECT_TRUE(held.valid());
}

TEST_P(lease_conformance, a_lease_without_ttl_is_renewed_beyond_the_clients_ttl) {
  const std::string name = unique_name("renewed");
  const client c = connect_with_ttl(600ms);
  auto lock = make(c, name);
  lease held = lock->acquire();
  const auto first_end = held.valid_until();
  // Three ends further: no single renewal would carry that far.
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > first_end + 1200ms; }));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_FALSE(make(connect(), name)->try_acquire());
  EXPECT_GT(c.stats().renewed, 0u);
  EXPECT_TRUE(succeeded(held.release()));
}

TEST_P(lease_conformance, a_lock_taken_by_its_std_face_is_renewed_beyond_the_clients_ttl) {
  const std::string name = unique_name("renewed-std");
  auto lock = make(connect_with_ttl(600ms), name);
  if (!lock->lockable()) GTEST_SKIP() << "no std face";
  lock->lock();
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > start + 1500ms; }));
  EXPECT_FALSE(make(connect(), name)->try_acquire());
  lock->unlock();
}

TEST_P(lease_conformance, only_shared_mutexes_can_be_downgraded_and_upgraded) {
  auto lock = make(connect(), unique_name("convert"));
  lease held = lock->acquire();
  if (kind() == lock_kind::shared_mutex) GTEST_SKIP() << "it can; see shared_mutex_conformance";
  EXPECT_TRUE(failed(errc::unsupported, held.downgrade()));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return held.try_upgrade(); }));
  EXPECT_TRUE(held.valid());
}

}  // namespace holdfast::testing
