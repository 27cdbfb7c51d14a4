#include "gates.hpp"

#include "acquisition.hpp"
#include "support/rig.hpp"

namespace holdfast::testing {
namespace {

using detail::gates;

gates::waiter somebody(rig& r) {
  return std::make_shared<detail::acquisition>(r.engine, spi::claim{}, detail::acquire_terms{}, [](const auto&) {});
}
const auto anybody = [](const detail::acquisition&) { return true; };

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
  EXPECT_EQ(g.hand_over("x", anybody), nullptr) << "nobody is there";
  g.arrive("x", a, gates::patience::waits);
  EXPECT_EQ(g.hand_over("x", anybody), nullptr) << "nobody waits";
  g.arrive("x", b, gates::patience::waits);
  g.arrive("x", c, gates::patience::waits);
  EXPECT_EQ(g.hand_over("x", [&](const detail::acquisition& w) { return &w == c.get(); }), nullptr)
      << "not past the first";
  EXPECT_EQ(g.parked("x"), 2U);
  EXPECT_EQ(g.hand_over("x", anybody), b);
  EXPECT_EQ(g.parked("x"), 1U);
}

}  // namespace
}  // namespace holdfast::testing
