#include "sqlite_fixture.hpp"

namespace holdfast::sqlite_tests {

using lock_test = sqlite_test;
using line = sqlite_client::line;

TEST_F(lock_test, a_free_lock_is_granted_with_its_end_and_its_tokens) {
  auto a = client();
  const auto c = mutex_claim("free", 10s);
  const auto before = clock_.now();
  const auto grant = a->take(c, 5);
  EXPECT_EQ(grant.tokens, 5U);
  EXPECT_GE(grant.expires, before + 10s);
  EXPECT_LE(grant.expires, clock_.now() + 10s);
  EXPECT_TRUE(a->leave(c));
  const auto next = a->take(mutex_claim("free"));
  EXPECT_EQ(next.first_token.value(), grant.first_token.value() + 5);
}

TEST_F(lock_test, entering_again_finds_the_same_grant) {
  auto a = client();
  const auto c = mutex_claim("again");
  const auto first = a->take(c, 3);
  const auto second = a->take(c, 3);
  EXPECT_EQ(first.first_token, second.first_token);
  EXPECT_EQ(first.tokens, second.tokens);
  EXPECT_EQ(first.expires, second.expires);
  EXPECT_EQ(a->inspect()[0].holders.size(), 1U);
}

TEST_F(lock_test, entering_again_finds_the_same_place_in_line) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("again");
  const auto waiting = mutex_claim("again");
  a->take(held);
  b->queue(waiting);
  b->queue(waiting);
  EXPECT_EQ(a->inspect()[0].waiters.size(), 1U);
}

TEST_F(lock_test, leaving_twice_is_no_harm) {
  auto a = client();
  const auto c = mutex_claim("twice");
  a->take(c);
  EXPECT_TRUE(a->leave(c));
  EXPECT_FALSE(a->leave(c));
}

TEST_F(lock_test, leaving_touches_only_what_is_ours) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("mine");
  a->take(held);
  EXPECT_FALSE(b->leave(mutex_claim("mine")));
  EXPECT_TRUE(is_busy(b->enter(mutex_claim("mine"), line::pass_by)));
}

TEST_F(lock_test, who_passes_by_leaves_nothing) {
  auto a = client();
  auto b = client();
  a->take(mutex_claim("busy"));
  EXPECT_TRUE(is_busy(b->enter(mutex_claim("busy"), line::pass_by)));
  EXPECT_TRUE(a->inspect()[0].waiters.empty());
}

TEST_F(lock_test, busy_says_when_the_holders_time_ends) {
  auto a = client();
  auto b = client();
  const auto grant = a->take(mutex_claim("short", 300ms));
  const auto got = b->enter(mutex_claim("short"), line::join);
  ASSERT_TRUE(is_busy(got));
  EXPECT_EQ(std::get<spi::busy>(*got).look_again, grant.expires);
}

TEST_F(lock_test, behind_a_waiter_one_looks_again_no_later_than_its_ttl_would_end) {
  auto a = client();
  auto b = client();
  auto c = client();
  a->take(mutex_claim("short", 30s));
  b->queue(mutex_claim("short", 200ms));
  const auto got = c->enter(mutex_claim("short"), line::join);
  ASSERT_TRUE(is_busy(got));
  EXPECT_LE(std::get<spi::busy>(*got).look_again, clock_.now() + 200ms);
}

TEST_F(lock_test, an_expired_holder_is_replaced_and_cannot_renew) {
  auto a = client();
  auto b = client();
  const auto old = mutex_claim("expires", 5s);
  const auto first = a->take(old);
  clock_.advance(5s);
  const auto second = b->take(mutex_claim("expires"));
  EXPECT_GT(second.first_token, first.first_token);
  EXPECT_EQ(a->renew(old).what, spi::renewal::lost);
  EXPECT_FALSE(a->leave(old));
}

TEST_F(lock_test, what_has_ended_is_not_revived_even_if_nobody_wanted_it) {
  auto a = client();
  const auto c = mutex_claim("over", 5s);
  a->take(c);
  clock_.advance(6s);
  EXPECT_EQ(a->renew(c).what, spi::renewal::lost);
}

TEST_F(lock_test, renewing_starts_the_ttl_afresh) {
  auto a = client();
  auto b = client();
  const auto c = mutex_claim("renewed", 5s);
  a->take(c);
  clock_.advance(4s);
  const auto renewed = a->renew(c);
  EXPECT_EQ(renewed.what, spi::renewal::renewed);
  EXPECT_GE(renewed.expires, clock_.now() + 4s);
  clock_.advance(4s);
  EXPECT_TRUE(is_busy(b->enter(mutex_claim("renewed"), line::pass_by)));
}

TEST_F(lock_test, a_batch_of_renewals_tells_each_apart) {
  auto a = client();
  const auto kept = mutex_claim("kept");
  const auto reader = shared_claim("read", spi::access::shared);
  const auto permit = permit_claim("permits", 2, 3);
  a->take(kept);
  a->take(reader);
  a->take(permit);
  answer<std::vector<spi::renewal_outcome>> got;
  a->store().renew({kept, mutex_claim("kept"), reader, permit, mutex_claim("unknown")}, got.slot());
  const auto all = got.wait().value();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].what, spi::renewal::renewed);
  EXPECT_EQ(all[1].what, spi::renewal::lost);
  EXPECT_EQ(all[2].what, spi::renewal::renewed);
  EXPECT_EQ(all[3].what, spi::renewal::renewed);
  EXPECT_EQ(all[4].what, spi::renewal::lost);
}

TEST_F(lock_test, nobody_overtakes_the_line) {
  auto a = client();
  auto b = client();
  auto c = client();
  const auto held = shared_claim("rw", spi::access::shared);
  const auto writer = shared_claim("rw", spi::access::exclusive);
  a->take(held);
  b->queue(writer);
  c->queue(shared_claim("rw", spi::access::shared));
}

TEST_F(lock_test, a_name_in_other_use_is_refused_naming_both) {
  auto a = client();
  const auto c = mutex_claim("kind");
  a->take(c);
  const auto refused = a->enter(shared_claim("kind", spi::access::exclusive));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::rejected));
  EXPECT_NE(refused.error().detail.find("'kind' is in use as a mutex"), std::string::npos) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("shared_mutex"), std::string::npos) << refused.error().detail;
  a->leave(c);
  a->take(shared_claim("kind", spi::access::exclusive));
}

TEST_F(lock_test, another_number_of_permits_is_refused_naming_both) {
  auto a = client();
  const auto c = permit_claim("permits", 1, 3);
  a->take(c);
  const auto refused = a->enter(permit_claim("permits", 1, 4));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, make_error_code(errc::rejected));
  EXPECT_NE(refused.error().detail.find("3 permits"), std::string::npos) << refused.error().detail;
  EXPECT_NE(refused.error().detail.find("4"), std::string::npos) << refused.error().detail;
  a->leave(c);
  a->take(permit_claim("permits", 1, 4));
}

TEST_F(lock_test, the_longest_names_and_those_sql_might_mistake_are_kept_apart) {
  auto a = client();
  const std::string longest(512, 'x');
  for (const std::string& name : {longest, longest.substr(1), std::string("it's"), std::string("%_*"), std::string("ü"),
                                  std::string("NAME"), std::string("name")})
    a->take(mutex_claim(name));
  EXPECT_EQ(a->inspect().size(), 7U);
}

TEST_F(lock_test, raising_lifts_every_later_token) {
  auto a = client();
  const auto c = mutex_claim("raised");
  const auto first = a->take(c);
  const fencing_token floor(first.first_token.value() + 1000);
  answer<bool> raised;
  a->store().raise(c, floor, spi::caller::may_block, raised.slot());
  EXPECT_TRUE(raised.wait().value());
  a->leave(c);
  EXPECT_GT(a->take(mutex_claim("raised")).first_token, floor);
  answer<bool> too_late;
  a->store().raise(c, floor, spi::caller::may_block, too_late.slot());
  EXPECT_EQ(too_late.wait().error().code, make_error_code(errc::lost));
}

TEST_F(lock_test, downgrading_lets_readers_in_and_upgrading_wants_to_be_alone) {
  auto a = client();
  auto b = client();
  const auto writer = shared_claim("rw", spi::access::exclusive);
  const auto reader = shared_claim("rw", spi::access::shared);
  const auto token = a->take(writer).first_token;
  b->queue(reader);
  EXPECT_TRUE(a->convert(writer, spi::access::shared).value());
  EXPECT_TRUE(is_granted(b->enter(reader)));
  EXPECT_FALSE(a->convert(writer, spi::access::exclusive).value());
  b->leave(reader);
  EXPECT_TRUE(a->convert(writer, spi::access::exclusive).value());
  b->queue(reader);
  EXPECT_EQ(a->inspect()[0].holders[0].token, token);
  b->leave(reader);
  a->leave(writer);
  EXPECT_EQ(a->convert(writer, spi::access::shared).error().code, make_error_code(errc::lost));
}

TEST_F(lock_test, a_store_is_the_same_word_for_everybody) {
  auto a = client();
  const sqlite_client roundabout(clock_, "sqlite://" + directory_.path().string() + "/./locks.db");
  EXPECT_EQ(a->store().identity(), const_cast<sqlite_client&>(roundabout).store().identity());
}

}  // namespace holdfast::sqlite_tests
