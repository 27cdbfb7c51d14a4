#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// `n` mutexes of one name on `n` stores that know nothing of each other, as one contender sees them.
class quorum_members {
 public:
  quorum_members(const store_fixture& store, std::size_t n, std::string name, client_options options = {})
      : name_(std::move(name)) {
    for (std::size_t i = 0; i < n; ++i) {
      clients_.push_back(store.make_client(options, i));
      mutexes_.push_back(std::make_unique<mutex>(clients_.back(), name_));
    }
  }

  std::vector<std::reference_wrapper<mutex>> all() const {
    std::vector<std::reference_wrapper<mutex>> refs;
    for (const auto& m : mutexes_) refs.push_back(std::ref(*m));
    return refs;
  }
  std::vector<std::reference_wrapper<mutex>> reversed() const {
    auto refs = all();
    return {refs.rbegin(), refs.rend()};
  }
  mutex& operator[](std::size_t i) const { return *mutexes_[i]; }
  client& at(std::size_t i) { return clients_[i]; }
  std::size_t size() const { return mutexes_.size(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<client> clients_;
  std::vector<std::unique_ptr<mutex>> mutexes_;
};

}  // namespace

TEST_P(quorum_mutex_conformance, it_excludes_with_any_number_of_members) {
  for (std::size_t n = 1; n <= 5; ++n) {
    SCOPED_TRACE(n);
    const std::string name = unique_name("members");
    quorum_members ours(store(), n, name);
    quorum_members theirs(store(), n, name);
    quorum_mutex mine(ours.all());
    quorum_mutex other(theirs.reversed());
    {
      const lease held = mine.acquire();
      EXPECT_TRUE(held.valid());
      EXPECT_FALSE(other.try_acquire());
      EXPECT_FALSE(other.try_lock_for(short_wait));
    }
    EXPECT_TRUE(other.try_acquire({.wait = live_timeout}));
  }
}

TEST_P(quorum_mutex_conformance, std_guards_work) {
  quorum_members m(store(), 3, unique_name("guards"));
  quorum_mutex quorum{m[0], m[1], m[2]};
  {
    const std::scoped_lock guard(quorum);
    EXPECT_FALSE(std::unique_lock(quorum, std::try_to_lock).owns_lock());
  }
  EXPECT_TRUE(quorum.try_lock_for(live_timeout));
  quorum.unlock();
}

TEST_P(quorum_mutex_conformance, a_minority_held_by_others_does_not_hinder) {
  for (std::size_t n = 3; n <= 5; ++n) {
    SCOPED_TRACE(n);
    quorum_members m(store(), n, unique_name("minority"));
    const std::size_t spare = n - (n / 2 + 1);
    std::vector<lease> others;
    for (std::size_t i = 0; i < spare; ++i) others.push_back(m[i].acquire());
    quorum_mutex quorum(m.all());
    EXPECT_TRUE(quorum.try_acquire({.wait = live_timeout}));
  }
}

TEST_P(quorum_mutex_conformance, half_of_an_even_number_is_no_majority) {
  for (const std::size_t n : {2u, 4u}) {
    SCOPED_TRACE(n);
    quorum_members m(store(), n, unique_name("half"));
    std::vector<lease> others;
    for (std::size_t i = 0; i < n / 2; ++i) others.push_back(m[i].acquire());
    quorum_mutex quorum(m.all());
    EXPECT_FALSE(quorum.try_acquire());
    EXPECT_FALSE(quorum.try_acquire({.wait = short_wait}));
  }
}

TEST_P(quorum_mutex_conformance, a_failed_quorum_leaves_nothing_behind) {
  quorum_members m(store(), 5, unique_name("failed"));
  const lease x = m[1].acquire();
  const lease y = m[2].acquire();
  const lease z = m[4].acquire();
  quorum_mutex quorum(m.all());
  EXPECT_FALSE(quorum.try_acquire());
  EXPECT_TRUE(throws(errc::timed_out, [&] { return quorum.acquire({.wait = short_wait}); }));
  for (const std::size_t i : {0u, 3u}) EXPECT_TRUE(nothing_left(m.at(i), m.name())) << "member " << i;
  for (const std::size_t i : {1u, 2u, 4u}) EXPECT_TRUE(nobody_waits(m.at(i), m.name())) << "member " << i;
}

TEST_P(quorum_mutex_conformance, a_cancelled_wait_leaves_nothing_behind) {
  quorum_members m(store(), 3, unique_name("cancelled"));
  const lease x = m[0].acquire();
  const lease y = m[1].acquire();
  quorum_mutex quorum(m.all());
  std::stop_source stop;
  auto waits = quorum.async_acquire({}, stop.get_token());
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  stop.request_stop();
  EXPECT_TRUE(throws(errc::cancelled, [&] { return waits.get(); }));
  EXPECT_TRUE(nothing_left(m.at(2), m.name()));
}

TEST_P(quorum_mutex_conformance, it_gets_in_when_the_majority_comes_free) {
  quorum_members m(store(), 3, unique_name("comes-free"));
  lease x = m[0].acquire();
  const lease y = m[1].acquire();  // Kept throughout: one member is as good as dead.
  quorum_mutex quorum(m.all());
  auto waits = quorum.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  ASSERT_TRUE(succeeded(x.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST_P(quorum_mutex_conformance, releasing_frees_every_member) {
  quorum_members m(store(), 4, unique_name("released"));
  quorum_mutex quorum(m.all());
  {
    const lease held = quorum.acquire();
  }
  for (std::size_t i = 0; i < m.size(); ++i) EXPECT_TRUE(nothing_left(m.at(i), m.name())) << "member " << i;
}

TEST_P(quorum_mutex_conformance, ties_are_resolved_and_nobody_is_lost) {
  for (const std::size_t n : {2u, 4u, 5u}) {
    SCOPED_TRACE(n);
    const std::string name = unique_name("tie");
    std::atomic<int> total =
        0;  // Guarded by the quorum; atomic for the sanitizer, which cannot see locks of the kernel.
    constexpr int rounds = 8;
    {
      std::vector<std::jthread> contenders;
      for (int t = 0; t < 2; ++t) {
        contenders.emplace_back([&, t] {
          quorum_members m(store(), n, name);
          quorum_mutex quorum(t == 0 ? m.all() : m.reversed());
          for (int i = 0; i < rounds; ++i) {
            const std::lock_guard guard(quorum);
            const int seen = total;
            std::this_thread::yield();
            total = seen + 1;
          }
        });
      }
    }
    EXPECT_EQ(total, 2 * rounds);
  }
}

TEST_P(quorum_mutex_conformance, tokens_increase_although_the_quorums_differ) {
  quorum_members m(store(), 3, unique_name("tokens"));
  for (int i = 0; i < 30; ++i) static_cast<void>(m[2].acquire());  // One store is far ahead.
  quorum_mutex quorum(m.all());
  fencing_token last = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const lease away = m[(i + 2) % 3].acquire({.wait = live_timeout});
    const lease held = quorum.acquire({.wait = live_timeout});
    EXPECT_GT(held.token(), last) << "without member " << (i + 2) % 3;
    last = held.token();
  }
}

TEST_P(quorum_mutex_conformance, it_is_lost_when_the_majority_is_gone_and_not_before) {
  quorum_members m(store(), 3, unique_name("lost"), {.ttl = 1500ms});
  quorum_mutex quorum(m.all());
  lease held = quorum.acquire();
  // It is there with two votes; the third joins it.
  const auto votes = [&] {
    return holders(m.at(0), m.name()) + holders(m.at(1), m.name()) + holders(m.at(2), m.name());
  };
  ASSERT_TRUE(eventually([&] { return votes() == 3; }));
  ASSERT_FALSE(eventually([&] { return votes() != 3; }, 200ms));
  ASSERT_TRUE(m.at(2).evict(m.name()));
  ASSERT_FALSE(eventually([&] { return !held.valid(); }, 200ms)) << "a majority of two is left";
  ASSERT_TRUE(m.at(0).evict(m.name()));
  EXPECT_TRUE(gets_lost(held));
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(failed(errc::lost, held.release()));
}

TEST_P(quorum_mutex_conformance, it_is_renewed_beyond_the_ttl) {
  quorum_members m(store(), 3, unique_name("renewed"), {.ttl = 600ms});
  quorum_mutex quorum(m.all());
  const lease held = quorum.acquire();
  const auto end = held.valid_until();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > end + 600ms; }));
  EXPECT_TRUE(held.valid());
}

TEST_P(quorum_mutex_conformance, impossible_sets_are_refused) {
  const client c = connect();
  const std::string name = unique_name("twice");
  mutex m(c, name);
  mutex same(c, name);
  EXPECT_TRUE(throws(errc::invalid_argument, [] { quorum_mutex none(std::vector<std::reference_wrapper<mutex>>{}); }));
  EXPECT_TRUE(throws(errc::deadlock, [&] { quorum_mutex twice{m, m}; }));
  EXPECT_TRUE(throws(errc::deadlock, [&] { quorum_mutex twice{m, same}; }));
}

}  // namespace holdfast::testing
