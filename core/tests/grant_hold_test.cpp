#include "grant_hold.hpp"

#include "support/rig.hpp"

#include <atomic>
#include <barrier>
#include <memory>
#include <thread>

namespace holdfast::testing {
namespace {

TEST(grant_hold, lost_is_stopped_at_the_first_look_after_a_pause) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  EXPECT_FALSE(a->held->lost().stop_requested());
  r.time->jump(1min);
  EXPECT_FALSE(a->held->valid());
  EXPECT_TRUE(a->held->lost().stop_requested());
  EXPECT_EQ(a->held->loss_cause(), loss::expired);
}

TEST(grant_hold, a_ttl_longer_than_the_sessions_time_is_over_with_the_session) {
  rig r({.ttl = 30s});
  r.store->enter.holds_back();
  auto a = r.ask("x", {.ttl = 1h});
  const auto session =
      std::make_shared<std::atomic<spi::time_point::duration>>((r.time->now() + 20s).time_since_epoch());
  r.store->enter.complete(spi::granted{1, 1, r.time->now() + 1h, session});
  ASSERT_TRUE(a->granted());
  r.time->jump(15s);
  EXPECT_TRUE(a->held->valid());
  *session = (r.time->now() + 20s).time_since_epoch();  // it was heard of
  r.time->jump(15s);
  EXPECT_TRUE(a->held->valid());
  r.time->jump(15s);
  EXPECT_FALSE(a->held->valid());
  EXPECT_TRUE(a->held->lost().stop_requested());
  EXPECT_EQ(a->held->loss_cause(), loss::unreachable);
}

TEST(grant_hold, the_token_given_out_before_is_stopped_too) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  const auto early = a->held->lost();
  r.time->jump(1min);
  EXPECT_TRUE(a->held->lost().stop_requested());
  EXPECT_TRUE(early.stop_requested());
}

TEST(grant_hold, release_never_stops_the_token) {
  rig r;
  auto a = r.ask("x");
  const auto token = a->held->lost();
  EXPECT_TRUE(a->release());
  r.losses->run();
  EXPECT_FALSE(token.stop_requested());
  EXPECT_FALSE(a->held->lost().stop_requested());
  EXPECT_EQ(a->held->loss_cause(), loss::none);
}

TEST(grant_hold, release_after_the_loss_fails_with_lost_and_its_cause) {
  rig r;
  auto a = r.ask("x");
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::session_ended);
  const auto done = a->release();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::lost);
  EXPECT_EQ(done.error().detail, to_string(loss::session_ended));
}

TEST(grant_hold, a_loss_is_told_by_the_first_release_and_not_by_the_second) {
  rig r;
  auto a = r.ask("x");
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::taken);
  EXPECT_EQ(a->release().error().code, errc::lost);
  EXPECT_EQ(a->release().error().code, errc::not_owner);
  EXPECT_EQ(a->held->loss_cause(), loss::taken) << "what was lost stays lost";
  EXPECT_TRUE(a->held->lost().stop_requested());
}

TEST(grant_hold, release_after_an_unnoticed_expiry_fails_with_lost) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  r.time->jump(1min);
  EXPECT_EQ(a->release().error().code, errc::lost);
}

TEST(grant_hold, the_second_release_fails_with_not_owner) {
  rig r;
  auto a = r.ask("x");
  EXPECT_TRUE(a->release());
  EXPECT_EQ(a->release().error().code, errc::not_owner);
  EXPECT_EQ(a->held->renew().error().code, errc::not_owner);
  EXPECT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.stats().released, 1U);
}

TEST(grant_hold, a_release_the_store_knows_nothing_of_is_a_loss) {
  rig r;
  auto a = r.ask("x");
  r.store->leave.answers(false);
  EXPECT_EQ(a->release().error().code, errc::lost);
}

TEST(grant_hold, valid_until_is_the_past_once_it_is_over) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  EXPECT_EQ(a->held->valid_until(), r.end_of(30s));
  EXPECT_TRUE(a->release());
  EXPECT_LT(a->held->valid_until(), r.time->now());
}

TEST(grant_hold, a_second_loss_does_not_change_the_cause_of_the_first) {
  rig r;
  auto a = r.ask("x");
  auto& hold = static_cast<detail::grant_hold&>(*a->held);
  EXPECT_TRUE(hold.lose(loss::taken));
  EXPECT_FALSE(hold.lose(loss::expired));
  EXPECT_EQ(hold.loss_cause(), loss::taken);
}

TEST(grant_hold, dropping_what_was_lost_or_released_does_nothing) {
  rig r;
  auto a = r.ask("x");
  EXPECT_TRUE(a->release());
  a->held->drop();
  EXPECT_EQ(r.store->leave.count(), 1U);
}

TEST(grant_hold, dropping_logs_a_release_that_fails_and_does_not_throw) {
  std::string logged;
  rig r({.log = [&](log_level, std::string_view line) { logged = line; }});
  auto a = r.ask("x");
  r.store->leave.answers(refusal);
  a->held->drop();
  EXPECT_NE(logged.find("no rights"), std::string::npos) << logged;
}

TEST(grant_hold, converts_only_a_shared_mutex) {
  rig r;
  auto a = r.ask("x");
  EXPECT_EQ(a->held->downgrade().error().code, errc::unsupported);
  EXPECT_EQ(a->held->try_upgrade().error().code, errc::unsupported);
  EXPECT_EQ(r.store->convert.count(), 0U);
}

TEST(grant_hold, a_converted_lease_is_renewed_and_left_as_what_it_is_now) {
  rig r;
  spi::claim claim;
  claim.name = "x";
  claim.kind = spi::kind::shared_mutex;
  auto a = r.ask(claim);
  EXPECT_TRUE(a->held->downgrade());
  EXPECT_TRUE(a->held->downgrade()) << "it is shared already";
  EXPECT_EQ(r.store->convert.count(), 1U);
  r.store->convert.answers(false);
  EXPECT_FALSE(a->held->try_upgrade().value());
  r.time->advance(10s);
  EXPECT_EQ(r.store->renew.calls()[0][0].access, spi::access::shared);
  EXPECT_TRUE(a->release());
  EXPECT_EQ(r.store->leave.calls()[0].access, spi::access::shared);
}

TEST(grant_hold, a_conversion_the_store_calls_lost_is_a_loss) {
  rig r;
  spi::claim claim;
  claim.name = "x";
  claim.kind = spi::kind::shared_mutex;
  auto a = r.ask(claim);
  r.store->convert.answers(failure{errc::lost, "not yours"});
  EXPECT_EQ(a->held->downgrade().error().code, errc::lost);
  EXPECT_EQ(a->held->loss_cause(), loss::taken);
}

TEST(grant_hold, either_the_loss_or_the_release_wins_never_both) {
  int lost = 0;
  for (int i = 0; i < 200; ++i) {
    rig r;
    auto a = r.ask("x");
    auto next = r.ask("x");
    const auto id = r.store->enter.calls()[0].claim.id;
    std::barrier together(2);
    std::jthread store([&] {
      together.arrive_and_wait();
      r.engine->lost(id, loss::taken);
    });
    together.arrive_and_wait();
    const bool released = a->release().has_value();
    store.join();
    EXPECT_EQ(a->held->loss_cause(), released ? loss::none : loss::taken);
    EXPECT_EQ(a->held->lost().stop_requested(), !released);
    EXPECT_EQ(r.stats().released + r.stats().lost, 1U);
    EXPECT_TRUE(next->granted()) << "the gate opens once, whoever won";
    EXPECT_EQ(r.stats().held, 1U);
    lost += released ? 0 : 1;
  }
  RecordProperty("lost", lost);
}

TEST(grant_hold, looking_from_many_threads_while_it_is_lost_finds_one_loss) {
  for (int i = 0; i < 50; ++i) {
    rig r({.ttl = 30s});
    auto a = r.ask("x");
    std::barrier together(4);
    r.time->jump(1min);
    {
      std::vector<std::jthread> lookers;
      for (int t = 0; t < 3; ++t) {
        lookers.emplace_back([&] {
          together.arrive_and_wait();
          EXPECT_TRUE(a->held->lost().stop_requested());
        });
      }
      together.arrive_and_wait();
      r.time->advance(0s);
    }
    EXPECT_EQ(r.stats().lost, 1U);
    EXPECT_EQ(r.store->leave.count(), 1U);
  }
}

}  // namespace
}  // namespace holdfast::testing
