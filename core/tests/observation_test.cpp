#include "support/rig.hpp"

namespace holdfast::testing {
namespace {

participant somebody(std::string owner) {
  participant p;
  p.owner = std::move(owner);
  return p;
}

struct observation : ::testing::Test {
  /// What the store shows from now on.
  void show(std::vector<std::string> holders, std::vector<std::string> waiters) {
    entry lock{"x", "mutex", {}, {}};
    for (auto& owner : holders) lock.holders.push_back(somebody(owner));
    for (auto& owner : waiters) lock.waiters.push_back(somebody(owner));
    r.store->inspect.otherwise([lock](const auto&) { return std::vector<entry>{lock}; });
  }
  void look() {
    told.clear();
    if (r.store->changed) r.store->changed();
    r.callbacks->run();
  }
  std::function<void(const change&)> listener() {
    return [this](const change& c) { told.push_back(std::string(to_string(c.what)) + " " + c.who.owner); };
  }
  using words = std::vector<std::string>;

  rig r;
  words told;
};

TEST_F(observation, begins_with_what_is_there_now) {
  show({"a"}, {"b"});
  auto s = r.connected().watch("x", listener());
  r.callbacks->run();
  EXPECT_EQ(told, (words{"granted a", "waiting b"}));
  EXPECT_EQ(r.store->inspect.calls()[0], "x");
}

TEST_F(observation, tells_the_differences_and_endings_before_beginnings) {
  auto s = r.connected().watch("", listener());
  r.callbacks->run();
  EXPECT_EQ(told, words{});
  show({"a"}, {"b", "c"});
  look();
  EXPECT_EQ(told, (words{"granted a", "waiting b", "waiting c"}));
  show({"b"}, {});
  look();
  EXPECT_EQ(told, (words{"released a", "left c", "granted b"}));
  look();
  EXPECT_EQ(told, words{}) << "nothing new";
  show({}, {});
  look();
  EXPECT_EQ(told, (words{"released b"}));
}

TEST_F(observation, changes_that_come_together_are_looked_at_once) {
  auto s = r.connected().watch("", listener());
  r.callbacks->run();
  const auto before = r.store->inspect.count();
  for (int i = 0; i < 10; ++i) r.store->changed();
  r.callbacks->run();
  EXPECT_EQ(r.store->inspect.count(), before + 1);
}

TEST_F(observation, a_look_that_fails_changes_nothing) {
  show({"a"}, {});
  auto s = r.connected().watch("", listener());
  r.callbacks->run();
  r.store->inspect.answers(silent);
  look();
  EXPECT_EQ(told, words{});
  look();
  EXPECT_EQ(told, words{}) << "a is still there";
}

TEST_F(observation, cancelling_ends_it_and_may_happen_twice) {
  show({"a"}, {});
  auto s = r.connected().watch("", listener());
  s.cancel();
  s.cancel();
  EXPECT_EQ(r.store->observers, 0U);
  r.callbacks->run();
  EXPECT_EQ(told, words{});
}

TEST_F(observation, may_be_cancelled_from_its_own_callback) {
  show({"a", "b"}, {});
  std::optional<subscription> s;
  int calls = 0;
  s = r.connected().watch("", [&](const change&) {
    ++calls;
    s->cancel();
  });
  r.callbacks->run();
  EXPECT_EQ(calls, 1);
}

TEST_F(observation, events_tell_what_happens_to_our_own_leases_in_order) {
  words seen;
  r.connected().on_event([&](const event& e) { seen.push_back(std::string(to_string(e.what)) + " " + e.name); });
  auto a = r.ask("x");
  EXPECT_TRUE(a->release());
  auto b = r.ask("y");
  r.engine->lost(r.store->enter.calls()[1].claim.id, loss::taken);
  EXPECT_TRUE(seen.empty()) << "on the callback executor only";
  r.callbacks->run();
  EXPECT_EQ(seen, (words{"acquired x", "released x", "acquired y", "lost y"}));
}

TEST_F(observation, a_renewal_without_answer_is_an_event) {
  std::vector<event> seen;
  auto a = r.ask("x");
  r.connected().on_event([&](const event& e) { seen.push_back(e); });
  r.store->renew.answers(silent);
  r.time->advance(10s);
  r.callbacks->run();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].what, event::kind::renewal_failed);
}

}  // namespace
}  // namespace holdfast::testing
