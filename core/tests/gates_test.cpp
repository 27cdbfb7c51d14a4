#include "gates.hpp"

#include "acquisition.hpp"
#include "support/rig.hpp"

#include <thread>
#include <vector>

namespace holdfast::testing {
namespace {

using detail::gates;

gates::waiter somebody(rig& r, detail::parker* sleeper = nullptr) {
  detail::acquire_terms terms;
  terms.sleeper = sleeper;
  return std::make_shared<detail::acquisition>(r.engine, spi::claim{}, terms, [](const auto&) {});
}
bool anybody(const detail::acquisition&) { return true; }
bool nobody(const detail::acquisition&) { return false; }
constexpr auto at_once = lease_clock::time_point(1s);

TEST(gates, the_first_goes_inside_and_the_others_park_in_order) {
  rig r;
  gates g;
  const auto a = somebody(r), b = somebody(r), c = somebody(r);
  EXPECT_EQ(g.arrive("x", a, gates::patience::waits), gates::arrival::inside);
  EXPECT_EQ(g.arrive("x", b, gates::patience::waits), gates::arrival::parked);
  EXPECT_EQ(g.arrive("x", c, gates::patience::waits), gates::arrival::parked);
  EXPECT_EQ(g.parked("x"), 2U);
  EXPECT_EQ(g.depart("x"), b);
  EXPECT_EQ(g.depart("x"), c);
  EXPECT_EQ(g.depart("x"), nullptr);
  EXPECT_EQ(g.arrive("x", a, gates::patience::waits), gates::arrival::inside) << "the gate is gone with the last";
}

TEST(gates, one_that_does_not_wait_is_refused_while_somebody_is_inside) {
  rig r;
  gates g;
  const auto a = somebody(r), b = somebody(r);
  EXPECT_EQ(g.arrive("x", a, gates::patience::does_not_wait), gates::arrival::inside);
  EXPECT_EQ(g.arrive("x", b, gates::patience::does_not_wait), gates::arrival::refused);
  EXPECT_EQ(g.parked("x"), 0U);
}

TEST(gates, names_do_not_meet) {
  rig r;
  gates g;
  EXPECT_EQ(g.arrive("x", somebody(r), gates::patience::waits), gates::arrival::inside);
  EXPECT_EQ(g.arrive("y", somebody(r), gates::patience::waits), gates::arrival::inside);
}

TEST(gates, only_a_parked_one_can_withdraw_and_only_once) {
  rig r;
  gates g;
  const auto a = somebody(r), b = somebody(r), c = somebody(r);
  g.arrive("x", a, gates::patience::waits);
  g.arrive("x", b, gates::patience::waits);
  g.arrive("x", c, gates::patience::waits);
  EXPECT_FALSE(g.withdraw("x", a.get())) << "it is inside";
  EXPECT_TRUE(g.withdraw("x", b.get()));
  EXPECT_FALSE(g.withdraw("x", b.get()));
  EXPECT_FALSE(g.withdraw("y", c.get()));
  EXPECT_EQ(g.depart("x"), c);
  EXPECT_FALSE(g.withdraw("x", c.get())) << "it was let in";
}

TEST(gates, clearing_takes_out_the_parked_ones_and_leaves_the_one_inside) {
  rig r;
  gates g;
  const auto a = somebody(r), b = somebody(r), c = somebody(r);
  g.arrive("x", a, gates::patience::waits);
  g.arrive("x", b, gates::patience::waits);
  g.arrive("x", c, gates::patience::waits);
  EXPECT_EQ(g.clear("x"), (std::list<gates::waiter>{b, c}));
  EXPECT_EQ(g.clear("y"), std::list<gates::waiter>());
  EXPECT_EQ(g.arrive("x", b, gates::patience::does_not_wait), gates::arrival::refused) << "somebody is inside";
}

TEST(gates, a_handover_goes_to_the_first_or_to_nobody) {
  rig r;
  gates g;
  const auto a = somebody(r), b = somebody(r), c = somebody(r);
  EXPECT_EQ(g.hand_over("x", at_once, 1us, anybody), nullptr) << "nobody is there";
  g.arrive("x", a, gates::patience::waits);
  EXPECT_EQ(g.hand_over("x", at_once, 1us, anybody), nullptr) << "nobody waits";
  g.arrive("x", b, gates::patience::waits);
  g.arrive("x", c, gates::patience::waits);
  EXPECT_EQ(g.hand_over("x", at_once, 1us, nobody), nullptr);
  EXPECT_EQ(g.parked("x"), 2U);
  EXPECT_EQ(g.hand_over("x", at_once, 1us, anybody), b);
  EXPECT_EQ(g.parked("x"), 1U);
}

TEST(gates, one_that_looks_out_goes_before_the_first_but_not_for_long) {
  rig r;
  gates g;
  detail::parker awake;
  awake.look_out();
  const auto inside = somebody(r), first = somebody(r), looks_out = somebody(r, &awake);
  g.arrive("x", inside, gates::patience::waits);
  g.arrive("x", first, gates::patience::waits);
  for (const auto after : {0us, 500us, 999us}) {
    g.arrive("x", looks_out, gates::patience::waits);
    EXPECT_EQ(g.hand_over("x", at_once + after, 1us, anybody), looks_out);
  }
  g.arrive("x", looks_out, gates::patience::waits);
  EXPECT_EQ(g.hand_over("x", at_once + 1ms, 1us, anybody), first) << "it has been passed over long enough";
  EXPECT_EQ(g.hand_over("x", at_once + 1ms, 1us, anybody), looks_out);
}

TEST(gates, waiters_look_out_only_where_holds_are_short_and_only_as_many_as_there_are_cores_to_spare) {
  rig r;
  gates g;
  std::vector<detail::parker> sleepers(std::thread::hardware_concurrency() + 5);
  g.arrive("x", somebody(r), gates::patience::waits);
  g.arrive("x", somebody(r, &sleepers[0]), gates::patience::waits);
  EXPECT_FALSE(sleepers[0].looks_out()) << "nothing is known about the holds yet";
  g.hand_over("x", at_once, 1s, nobody);
  g.arrive("x", somebody(r, &sleepers[1]), gates::patience::waits);
  EXPECT_FALSE(sleepers[1].looks_out()) << "a hold of one second";
  g.hand_over("x", at_once, 1us, nobody);
  std::size_t awake = 0;
  for (std::size_t i = 2; i < sleepers.size(); ++i) {
    g.arrive("x", somebody(r, &sleepers[i]), gates::patience::waits);
    awake += sleepers[i].looks_out() ? 1 : 0;
  }
  EXPECT_EQ(awake, std::min<std::size_t>(std::thread::hardware_concurrency() - 1, 3));
}

}  // namespace
}  // namespace holdfast::testing
