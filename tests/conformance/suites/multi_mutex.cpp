#include <holdfast/testing/conformance.hpp>

#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Three mutexes of one name each: on two stores of the kind under test, and on one in memory.
struct mixed_members {
  mixed_members(const store_fixture& store, client_options options = {})
      : here(store.make_client(options)),
        there(store.make_client(options, 1)),
        memory(holdfast::connect("memory:" + unique_name("mixed"), options)) {}

  client here;
  client there;
  client memory;
  std::string name = unique_name("member");
  mutex a{here, name};
  mutex b{there, name};
  mutex c{memory, name};
};

}  // namespace

TEST_P(multi_mutex_conformance, all_members_are_held_together) {
  mixed_members m(store());
  multi_mutex all{m.a, m.b, m.c};
  {
    const lease held = all.acquire();
    EXPECT_TRUE(held.valid());
    for (mutex* member : {&m.a, &m.b, &m.c}) EXPECT_FALSE(member->try_acquire());
  }
  for (mutex* member : {&m.a, &m.b, &m.c}) EXPECT_TRUE(member->try_acquire({.wait = live_timeout}));
}

TEST_P(multi_mutex_conformance, std_guards_work) {
  mixed_members m(store());
  multi_mutex all(std::vector<std::reference_wrapper<mutex>>{m.a, m.b, m.c});
  {
    const std::scoped_lock guard(all);
    EXPECT_FALSE(m.b.try_lock());
  }
  {
    std::unique_lock guard(all, 5s);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(m.a.try_lock());
  }
  EXPECT_TRUE(m.a.try_lock());
  EXPECT_FALSE(all.try_lock());
  EXPECT_FALSE(all.try_lock_for(short_wait));
  m.a.unlock();
  EXPECT_TRUE(all.try_lock_for(live_timeout));
  all.unlock();
}

TEST_P(multi_mutex_conformance, all_or_none) {
  for (int taken = 0; taken < 3; ++taken) {
    mixed_members m(store());
    multi_mutex all{m.c, m.b, m.a};
    mutex* members[] = {&m.a, &m.b, &m.c};
    const client* clients[] = {&m.here, &m.there, &m.memory};
    const lease other = members[taken]->acquire();
    EXPECT_FALSE(all.try_acquire());
    EXPECT_FALSE(all.try_acquire({.wait = short_wait}));
    EXPECT_TRUE(throws(errc::timed_out, [&] { return all.acquire({.wait = short_wait}); }));
    for (int i = 0; i < 3; ++i) {
      if (i != taken) {
        EXPECT_TRUE(nothing_left(*clients[i], m.name)) << "member " << i << " stayed held";
      }
    }
    EXPECT_TRUE(nobody_waits(*clients[taken], m.name));
  }
}

TEST_P(multi_mutex_conformance, a_cancelled_wait_leaves_nothing) {
  mixed_members m(store());
  multi_mutex all{m.a, m.b, m.c};
  std::stop_source stop;
  lease other = m.c.acquire();
  auto waits = all.async_acquire({}, stop.get_token());
  ASSERT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  stop.request_stop();
  EXPECT_TRUE(throws(errc::cancelled, [&] { return waits.get(); }));
  ASSERT_TRUE(succeeded(other.release()));
  for (const client* c : {&m.here, &m.there, &m.memory}) EXPECT_TRUE(nothing_left(*c, m.name));
}

TEST_P(multi_mutex_conformance, it_waits_for_members_that_others_hold) {
  mixed_members m(store());
  multi_mutex all{m.a, m.b, m.c};
  lease one = m.a.acquire();
  lease two = m.c.acquire();
  auto waits = all.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_TRUE(succeeded(two.release()));
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_TRUE(succeeded(one.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST_P(multi_mutex_conformance, opposite_orders_do_not_deadlock) {
  mixed_members m(store());
  int total = 0;  // Guarded by all members.
  const std::vector<std::vector<std::reference_wrapper<mutex>>> orders{
      {m.a, m.b, m.c}, {m.c, m.b, m.a}, {m.b, m.a, m.c}};
  {
    std::vector<std::jthread> threads;
    for (const auto& order : orders) {
      threads.emplace_back([&total, order] {
        multi_mutex all(order);
        for (int i = 0; i < 15; ++i) {
          const std::lock_guard guard(all);
          ++total;
        }
      });
    }
  }
  EXPECT_EQ(total, 45);
}

TEST_P(multi_mutex_conformance, sets_that_overlap_do_not_deadlock) {
  const client c = connect();
  mutex x(c, unique_name("x"));
  mutex y(c, unique_name("y"));
  mutex z(c, unique_name("z"));
  int in_x = 0;
  int in_y = 0;
  int in_z = 0;
  {
    std::jthread one([&] {
      multi_mutex both{x, y};
      for (int i = 0; i < 15; ++i) {
        const std::lock_guard guard(both);
        ++in_x, ++in_y;
      }
    });
    std::jthread two([&] {
      multi_mutex both{y, z};
      for (int i = 0; i < 15; ++i) {
        const std::lock_guard guard(both);
        ++in_y, ++in_z;
      }
    });
    std::jthread three([&] {
      multi_mutex both{z, x};
      for (int i = 0; i < 15; ++i) {
        const std::lock_guard guard(both);
        ++in_z, ++in_x;
      }
    });
  }
  EXPECT_EQ(in_x, 30);
  EXPECT_EQ(in_y, 30);
  EXPECT_EQ(in_z, 30);
}

TEST_P(multi_mutex_conformance, the_loss_of_one_member_loses_it) {
  mixed_members m(store(), {.ttl = 1500ms});
  multi_mutex all{m.a, m.b, m.c};
  lease held = all.acquire();
  ASSERT_TRUE(m.there.evict(m.name));
  EXPECT_TRUE(gets_lost(held));
  EXPECT_FALSE(held.valid());
  EXPECT_NE(held.loss_cause(), loss::none);
  EXPECT_TRUE(failed(errc::lost, held.release()));
  EXPECT_TRUE(nothing_left(m.here, m.name)) << "the members that were not lost are released";
}

TEST_P(multi_mutex_conformance, tokens_increase_from_grant_to_grant) {
  mixed_members m(store());
  for (int i = 0; i < 7; ++i) static_cast<void>(m.b.acquire());  // One member is ahead of the others.
  multi_mutex all{m.a, m.b, m.c};
  fencing_token last = 0;
  for (int i = 0; i < 10; ++i) {
    const lease held = all.acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last);
    last = held.token();
  }
}

TEST_P(multi_mutex_conformance, it_is_renewed_and_can_have_a_fixed_ttl) {
  mixed_members m(store(), {.ttl = 600ms});
  multi_mutex all{m.a, m.b, m.c};
  {
    const lease held = all.acquire();
    const auto end = held.valid_until();
    ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > end + 600ms; }));
    EXPECT_TRUE(held.valid());
  }
  const lease brief = all.acquire({.wait = live_timeout, .ttl = 200ms});
  EXPECT_TRUE(gets_lost(brief));
}

TEST_P(multi_mutex_conformance, impossible_sets_are_refused) {
  const client c = connect();
  const std::string name = unique_name("twice");
  mutex m(c, name);
  mutex same(c, name);
  mutex same_store(connect(), name);
  EXPECT_TRUE(throws(errc::invalid_argument, [] { multi_mutex none(std::vector<std::reference_wrapper<mutex>>{}); }));
  EXPECT_TRUE(throws(errc::deadlock, [&] { multi_mutex twice{m, m}; }));
  EXPECT_TRUE(throws(errc::deadlock, [&] { multi_mutex twice{m, same}; })) << "two objects, one lock";
  EXPECT_TRUE(throws(errc::deadlock, [&] { multi_mutex twice{m, same_store}; })) << "two clients, one store, one lock";
}

}  // namespace holdfast::testing
