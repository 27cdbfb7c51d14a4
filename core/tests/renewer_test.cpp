#include "support/rig.hpp"

#include "terms.hpp"

namespace holdfast::testing {
namespace {

using outcomes = std::vector<spi::renewal_outcome>;

outcomes all_lost(const std::vector<spi::claim>& claims) { return outcomes(claims.size(), {spi::renewal::lost, {}}); }

/// A third of how long a lease of 30 s is valid.
const auto period = detail::renewal_period(30s - detail::drift_margin(30s));

TEST(renewer, renews_at_a_third_of_the_ttl_again_and_again) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  r.time->advance(period - 1ns);
  EXPECT_EQ(r.store->renew.count(), 0U);
  r.time->advance(1ns);
  EXPECT_EQ(r.store->renew.count(), 1U);
  EXPECT_EQ(r.store->renew.calls()[0][0].id, r.store->enter.calls()[0].claim.id);
  r.time->advance(60 * period);
  EXPECT_EQ(r.store->renew.count(), 61U);
  EXPECT_TRUE(a->held->valid());
  EXPECT_EQ(r.stats().renewed, 61U);
}

TEST(renewer, validity_counts_from_before_the_send_less_the_margin) {
  rig r({.ttl = 30s});
  const auto asked_at = r.time->now();
  r.store->enter.holds_back();
  auto a = r.ask("x");
  r.time->advance(4s);  // a slow store
  r.store->enter.complete(spi::granted{1, 1, asked_at + 30s});
  ASSERT_TRUE(a->granted());
  EXPECT_EQ(a->held->valid_until(), asked_at + 30s - detail::drift_margin(26s));
}

TEST(renewer, a_renewal_extends_to_what_the_store_said_less_the_margin) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  const auto renewed_at = r.time->now() + period;
  r.time->advance(12s);
  EXPECT_EQ(a->held->valid_until(), renewed_at + 30s - detail::drift_margin(30s));
}

TEST(renewer, those_due_soon_go_along_in_one_batch) {
  rig r({.ttl = 30s});
  std::vector<std::shared_ptr<asked>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(r.ask("lock" + std::to_string(i)));
    r.time->advance(1s);
  }
  r.time->advance(6s);  // the first is due; the others within a tenth of the ttl
  ASSERT_EQ(r.store->renew.count(), 1U);
  EXPECT_EQ(r.store->renew.calls()[0].size(), 4U);
}

TEST(renewer, those_due_much_later_stay_behind) {
  rig r({.ttl = 30s});
  auto a = r.ask("early");
  r.time->advance(5s);
  auto b = r.ask("late");
  r.time->advance(5s);
  ASSERT_EQ(r.store->renew.count(), 1U);
  EXPECT_EQ(r.store->renew.calls()[0].size(), 1U);
  EXPECT_EQ(r.store->renew.calls()[0][0].name, "early");
}

TEST(renewer, a_batch_holds_at_most_256) {
  rig r({.ttl = 30s});
  std::vector<std::shared_ptr<asked>> all;
  for (int i = 0; i < 600; ++i) all.push_back(r.ask("lock" + std::to_string(i)));
  r.time->advance(10s);
  const auto calls = r.store->renew.calls();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].size(), 256U);
  EXPECT_EQ(calls[1].size(), 256U);
  EXPECT_EQ(calls[2].size(), 88U);
  for (const auto& a : all) EXPECT_TRUE(a->held->valid());
}

TEST(renewer, a_fixed_ttl_is_not_renewed_and_ends_as_expired) {
  rig r;
  auto a = r.ask("x", {.ttl = 10s});
  r.time->advance(10s - detail::drift_margin(10s) - 1ns);
  EXPECT_TRUE(a->held->valid());
  r.time->advance(1ns);
  EXPECT_FALSE(a->held->valid());
  EXPECT_EQ(r.stats().lost, 1U) << "found by the timer, not by looking";
  EXPECT_EQ(a->held->loss_cause(), loss::expired);
  EXPECT_EQ(r.store->renew.count(), 0U);
}

TEST(renewer, lease_renew_starts_a_fixed_ttl_afresh) {
  rig r;
  auto a = r.ask("x", {.ttl = 10s});
  r.time->advance(8s);
  EXPECT_TRUE(a->held->renew());
  EXPECT_EQ(a->held->valid_until(), r.end_of(10s));
  r.time->advance(8s);
  EXPECT_TRUE(a->held->valid());
  r.time->advance(2s);
  EXPECT_EQ(a->held->loss_cause(), loss::expired);
}

TEST(renewer, lease_renew_tells_a_loss_and_silence) {
  rig r;
  auto a = r.ask("x", {.ttl = 10s});
  r.store->renew.answers(silent);
  EXPECT_EQ(a->held->renew().error().code, errc::unavailable);
  r.store->renew.answers(outcomes{{spi::renewal::unknown, {}}});
  EXPECT_EQ(a->held->renew().error().code, errc::unavailable);
  EXPECT_TRUE(a->held->valid()) << "unknown ends nothing";
  r.store->renew.answers(outcomes{{spi::renewal::lost, {}}});
  EXPECT_EQ(a->held->renew().error().code, errc::lost);
  EXPECT_EQ(a->held->loss_cause(), loss::taken);
}

TEST(renewer, lost_at_the_store_is_told_as_taken) {
  rig r({.ttl = 30s});
  r.store->renew.otherwise([](const auto& claims) { return all_lost(claims); });
  auto a = r.ask("x");
  const auto token = a->held->lost();
  r.time->advance(10s);
  EXPECT_FALSE(a->held->valid());
  EXPECT_FALSE(token.stop_requested()) << "user code does not run where the loss is found";
  r.losses->run();
  EXPECT_TRUE(token.stop_requested()) << "and no callback that blocks delays it";
  EXPECT_EQ(a->held->loss_cause(), loss::taken);
  EXPECT_EQ(a->release().error().code, errc::lost);
}

TEST(renewer, one_lost_of_a_batch_does_not_end_the_others) {
  rig r({.ttl = 30s});
  auto a = r.ask("a");
  auto b = r.ask("b");
  r.store->renew.otherwise([&](const std::vector<spi::claim>& claims) {
    auto answer = r.store->renewed(claims);
    for (std::size_t i = 0; i < claims.size(); ++i)
      if (claims[i].name == "a") answer[i] = {spi::renewal::lost, {}};
    return answer;
  });
  r.time->advance(1min);
  EXPECT_FALSE(a->held->valid());
  EXPECT_TRUE(b->held->valid());
}

TEST(renewer, unknown_is_asked_again_at_once_and_then_with_pauses) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  r.store->renew.otherwise([](const auto&) { return result<outcomes>(silent); });
  r.time->advance(10s);
  EXPECT_EQ(r.store->renew.count(), 2U) << "one lost packet costs nothing";
  r.time->advance(1s);
  EXPECT_EQ(r.store->renew.count(), 3U);
  r.time->advance(5s);
  EXPECT_EQ(r.store->renew.count(), 8U);
  EXPECT_EQ(r.stats().renewal_failures, 8U);
}

TEST(renewer, unknown_neither_extends_nor_ends_a_lease) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  const auto end = a->held->valid_until();
  r.store->renew.otherwise([](const auto& c) { return outcomes(c.size(), {spi::renewal::unknown, {}}); });
  r.time->advance(15s);
  EXPECT_EQ(a->held->valid_until(), end);
  EXPECT_TRUE(a->held->valid());
  r.store->renew.otherwise([&](const auto& c) { return r.store->renewed(c); });
  r.time->advance(1s);
  EXPECT_GT(a->held->valid_until(), end);
}

TEST(renewer, an_answer_that_is_too_short_leaves_the_rest_unknown) {
  rig r({.ttl = 30s});
  auto a = r.ask("a");
  r.store->renew.answers(outcomes{});
  r.time->advance(10s);
  EXPECT_TRUE(a->held->valid());
  EXPECT_EQ(r.store->renew.count(), 2U);
}

TEST(renewer, a_store_silent_to_the_end_is_a_loss_by_unreachable_on_the_dot) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  const auto end = a->held->valid_until();
  r.store->renew.otherwise([](const auto&) { return result<outcomes>(silent); });
  r.time->advance(end - r.time->now() - 1ns);
  EXPECT_EQ(r.stats().lost, 0U);
  r.time->advance(1ns);
  EXPECT_EQ(r.stats().lost, 1U);
  EXPECT_EQ(a->held->loss_cause(), loss::unreachable);
}

TEST(renewer, a_renewal_still_open_at_the_end_is_a_loss_by_unreachable) {
  rig r({.ttl = 3s});
  auto a = r.ask("x");
  r.store->renew.holds_back();
  r.time->advance(3s);
  EXPECT_EQ(r.stats().lost, 1U) << "a hanging store does not keep the loss from being told in time";
  EXPECT_EQ(a->held->loss_cause(), loss::unreachable);
}

TEST(renewer, a_renewal_answered_after_the_loss_does_not_bring_the_lease_back) {
  rig r({.ttl = 3s});
  auto a = r.ask("x");
  r.store->renew.holds_back();
  r.time->advance(3s);
  r.store->renew.complete(outcomes{{spi::renewal::renewed, r.time->now() + 3s}});
  EXPECT_FALSE(a->held->valid());
  EXPECT_EQ(a->release().error().code, errc::lost);
}

TEST(renewer, a_renewal_answered_after_the_release_is_ignored) {
  for (const auto what : {spi::renewal::renewed, spi::renewal::lost, spi::renewal::unknown}) {
    rig r({.ttl = 30s});
    auto a = r.ask("x");
    r.store->renew.holds_back();
    r.time->advance(10s);
    EXPECT_TRUE(a->release());
    r.store->renew.complete(outcomes{{what, r.time->now() + 30s}});
    EXPECT_EQ(a->held->loss_cause(), loss::none);
    EXPECT_FALSE(a->held->valid());
    EXPECT_EQ(r.stats().lost, 0U);
    r.time->advance(1h);
    EXPECT_EQ(r.store->renew.count(), 1U);
  }
}

TEST(renewer, a_pause_beyond_the_ttl_is_a_loss_by_expiry_and_not_renewed) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  r.time->jump(1min);  // SIGSTOP, suspend
  r.time->advance(0s);
  EXPECT_EQ(r.store->renew.count(), 0U);
  EXPECT_EQ(a->held->loss_cause(), loss::expired);
}

TEST(renewer, a_loss_takes_back_what_the_store_may_still_know) {
  rig r({.ttl = 30s});
  auto a = r.ask("x");
  r.time->jump(1min);
  r.time->advance(0s);
  ASSERT_EQ(r.store->leave.count(), 1U);
  EXPECT_EQ(r.store->leave.calls()[0].id, r.store->enter.calls()[0].claim.id);
}

TEST(renewer, a_session_that_ended_is_told_at_once_and_only_to_those_it_held) {
  rig r;
  auto a = r.ask("a");
  auto b = r.ask("b");
  r.engine->lost(r.store->enter.calls()[0].claim.id, loss::session_ended);
  r.engine->lost(spi::owner_id::random(), loss::session_ended);
  EXPECT_EQ(a->held->loss_cause(), loss::session_ended);
  EXPECT_TRUE(b->held->valid());
  EXPECT_EQ(r.stats().held, 1U);
}

}  // namespace
}  // namespace holdfast::testing
