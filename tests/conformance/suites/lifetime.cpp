#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(lifetime_conformance, a_lease_outlives_the_client_and_stays_renewed) {
  const client watcher = connect();
  const std::string name = unique_name("client-gone");
  std::optional<client> c = connect_with_ttl(600ms);
  std::optional<mutex> m(std::in_place, *c, name);
  lease held = m->acquire();
  m.reset();
  c.reset();
  const auto end = held.valid_until();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > end + 600ms; }));
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(holders(watcher, name), 1u);
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(lifetime_conformance, the_last_lease_of_a_client_that_is_gone_releases_in_its_destructor) {
  const client watcher = connect();
  const std::string name = unique_name("last-lease");
  {
    std::optional<client> c = connect();
    const lease held = mutex(*c, name).acquire();
    c.reset();
    EXPECT_TRUE(held.valid());
  }
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(lifetime_conformance, a_mutex_destroyed_while_it_is_locked_lets_go) {
  const client c = connect();
  const std::string name = unique_name("locked-destroyed");
  {
    mutex m(c, name);
    m.lock();
  }
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(lifetime_conformance, an_operation_outlives_the_client_and_the_lock) {
  const client watcher = connect();
  const std::string name = unique_name("operation-outlives");
  mutex ours(watcher, name);
  std::optional<lease> held = ours.acquire();
  std::optional<client> c = connect();
  auto waits = mutex(*c, name).async_acquire();
  c.reset();
  ASSERT_TRUE(waiting(watcher, name, 1));
  held.reset();
  EXPECT_TRUE(waits.get().valid());
}

TEST_P(lifetime_conformance, a_callback_may_drop_the_last_of_its_client) {
  const std::string name = unique_name("callback-drops");
  const client watcher = connect();
  std::atomic<bool> done{false};
  {
    auto c = std::make_shared<client>(connect());
    auto m = std::make_shared<mutex>(*c, name);
    m->async_acquire().then([c, m, &done](result<lease> got) mutable {
      {
        const lease held = std::move(got).value();
      }
      m.reset();
      c.reset();
      done = true;
    });
  }
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(lifetime_conformance, copies_of_a_client_are_one_client) {
  const client c = connect();
  const client copy = c;
  mutex m(copy, unique_name("copy"));
  const lease held = m.acquire();
  EXPECT_EQ(c.stats().acquired, 1u);
  EXPECT_EQ(c.url(), copy.url());
}

TEST_P(lifetime_conformance, an_exception_that_unwinds_releases) {
  const client c = connect();
  const std::string name = unique_name("unwind");
  mutex m(c, name);
  try {
    const std::lock_guard guard(m);
    throw std::runtime_error("unwind");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(lifetime_conformance, clients_come_and_go_without_leaving_threads) {
  const auto named = [](auto wanted) {
    std::size_t count = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      count += wanted(name) ? 1 : 0;
    }
    return count;
  };
  // One of ours stays: it outlives clients whose last owner goes on a thread of their own.
  const auto threads = [&] { return named([](const std::string& name) { return name != "hf-dispose"; }); };
  const auto ours = [&] { return named([](const std::string& name) { return name.starts_with("hf-"); }); };
  ASSERT_TRUE(eventually([&] { return ours() <= 1; })) << ours();
  const auto before = threads();
  for (int i = 0; i < 10; ++i) {
    const client c = connect();
    const lease held = mutex(c, unique_name("come-and-go")).acquire();
  }
  EXPECT_TRUE(eventually([&] { return threads() <= before; })) << threads() << " threads, and " << before << " before";
}

TEST_P(lifetime_conformance, destructors_are_bounded_and_silent_while_the_store_is_gone) {
  std::optional<client> c = connect({.ttl = 2s, .request_timeout = 500ms});
  std::optional<mutex> locked(std::in_place, *c, unique_name("store-gone"));
  mutex leased(*c, unique_name("store-gone"));
  locked->lock();
  std::optional<lease> held = leased.acquire();
  if (!store().take_away()) GTEST_SKIP() << "this store cannot go away";
  EXPECT_LT(time_taken([&] { held.reset(); }), 5s);
  EXPECT_LT(time_taken([&] { locked->unlock(); }), 5s);
  EXPECT_LT(time_taken([&] { locked.reset(); }), 5s);
  EXPECT_LT(time_taken([&] { c.reset(); }), 5s);
}

TEST_P(lifetime_conformance, waiting_on_a_store_that_is_gone_ends_in_time) {
  const client c = connect({.request_timeout = 500ms});
  mutex m(c, unique_name("wait-gone"));
  const lease held = m.acquire();
  if (!store().take_away()) GTEST_SKIP() << "this store cannot go away";
  mutex other(c, unique_name("other"));
  const auto taken = time_taken([&] {
    try {
      static_cast<void>(other.try_acquire({.wait = 300ms}));
    } catch (const error&) {  // Unavailable or rejected, as the store has it: what matters here is that it ends.
    }
  });
  EXPECT_LT(taken, 5s);
}

}  // namespace holdfast::testing
