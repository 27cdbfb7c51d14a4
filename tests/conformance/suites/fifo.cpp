#include <holdfast/testing/conformance.hpp>

#include <mutex>
#include <numeric>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr lock_options fair{.order = ordering::fifo};

/// Who got in, in that order.
class arrivals {
 public:
  void add(int who) {
    const std::lock_guard lock(mutex_);
    order_.push_back(who);
  }
  std::vector<int> order() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<int> order_;
};

std::vector<int> first(int n) {
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

TEST_P(fifo_conformance, waits_of_one_client_are_served_in_the_order_of_asking) {
  const client watcher = connect();
  const client c = connect();
  const std::string name = unique_name("one-client");
  mutex m(c, name, fair);
  arrivals in;
  lease held = m.acquire();
  constexpr int count = 12;
  for (int i = 0; i < count; ++i) {
    m.async_acquire().then([&in, i](result<lease> got) {
      if (got) in.add(i);
    });
    ASSERT_TRUE(waiting(watcher, name, static_cast<std::size_t>(i) + 1)) << "every waiter is in the store's queue";
  }
  ASSERT_TRUE(succeeded(held.release()));
  ASSERT_TRUE(eventually([&] { return in.order().size() == count; }));
  EXPECT_EQ(in.order(), first(count));
}

TEST_P(fifo_conformance, waits_of_many_clients_are_served_in_the_order_of_asking) {
  const client watcher = connect();
  const std::string name = unique_name("clients");
  mutex m(watcher, name, fair);
  arrivals in;
  lease held = m.acquire();
  constexpr int count = 9;
  std::vector<std::unique_ptr<mutex>> locks;
  for (int i = 0; i < 3; ++i) locks.push_back(std::make_unique<mutex>(connect(), name, fair));
  for (int i = 0; i < count; ++i) {
    locks[static_cast<std::size_t>(i) % 3]->async_acquire().then([&in, i](result<lease> got) {
      if (got) in.add(i);
    });
    ASSERT_TRUE(waiting(watcher, name, static_cast<std::size_t>(i) + 1));
  }
  ASSERT_TRUE(succeeded(held.release()));
  ASSERT_TRUE(eventually([&] { return in.order().size() == count; }));
  EXPECT_EQ(in.order(), first(count));
}

TEST_P(fifo_conformance, processes_are_served_in_the_order_of_asking) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const client watcher = connect();
  const std::string name = unique_name("processes");
  mutex m(watcher, name, fair);
  std::vector<holder_process> others;
  for (int i = 0; i < 5; ++i) others.push_back(start_holder());
  lease held = m.acquire();
  std::uint64_t last = held.token().value();
  for (std::size_t i = 0; i < others.size(); ++i) {
    others[i].tell("acquire mutex " + name + " order=fifo");
    ASSERT_TRUE(waiting(watcher, name, i + 1));
  }
  ASSERT_TRUE(succeeded(held.release()));
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::uint64_t token = others[i].granted_reply();
    EXPECT_GT(token, last) << "process " << i << " came before its time";
    last = token;
    if (i + 1 < others.size()) {
      EXPECT_FALSE(others[i + 1].reply_within(1ms));
    }
    ASSERT_EQ(others[i].ask("release"), "ok");
  }
}

TEST_P(fifo_conformance, who_asks_again_goes_to_the_end_of_the_queue) {
  const client watcher = connect();
  const std::string name = unique_name("again");
  mutex ours(watcher, name, fair);
  mutex theirs(connect(), name, fair);
  lease held = ours.acquire();
  auto waiter = theirs.async_acquire();
  ASSERT_TRUE(waiting(watcher, name, 1));
  const fencing_token before = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_FALSE(ours.try_acquire()) << "whoever releases must not overtake the queue";
  auto again = ours.async_acquire();
  lease next = waiter.get();
  EXPECT_GT(next.token(), before);
  EXPECT_FALSE(again.ready());
  ASSERT_TRUE(succeeded(next.release()));
  EXPECT_GT(again.get().token(), next.token());
}

TEST_P(fifo_conformance, a_wait_that_ends_gives_its_place_to_the_next) {
  const client watcher = connect();
  const std::string name = unique_name("gap");
  mutex m(watcher, name, fair);
  mutex other(connect(), name, fair);
  arrivals in;
  std::stop_source stop;
  lease held = m.acquire();
  for (int i = 0; i < 3; ++i) {
    other.async_acquire({}, i == 1 ? stop.get_token() : std::stop_token()).then([&in, i](result<lease> got) {
      in.add(got ? i : -1);
    });
    ASSERT_TRUE(waiting(watcher, name, static_cast<std::size_t>(i) + 1));
  }
  stop.request_stop();
  ASSERT_TRUE(waiting(watcher, name, 2));
  ASSERT_TRUE(eventually([&] { return in.order().size() == 1; }));
  ASSERT_TRUE(succeeded(held.release()));
  ASSERT_TRUE(eventually([&] { return in.order().size() == 3; }));
  EXPECT_EQ(in.order(), (std::vector<int>{-1, 0, 2}));
}

TEST_P(fifo_conformance, permits_are_given_in_the_order_of_asking) {
  if (!supports().permits) GTEST_SKIP() << "this store has no permit_semaphore";
  const client watcher = connect();
  const std::string name = unique_name("permits");
  permit_semaphore semaphore(watcher, name, 2, fair);
  arrivals in;
  lease one = semaphore.acquire();
  lease other = semaphore.acquire();
  // The first asks for both: those behind it must not take one by one what it waits for.
  semaphore.async_acquire({}, {}, 2).then([&](result<lease> got) {
    if (got) in.add(0);
  });
  ASSERT_TRUE(waiting(watcher, name, 1));
  semaphore.async_acquire().then([&](result<lease> got) {
    if (got) in.add(1);
  });
  ASSERT_TRUE(waiting(watcher, name, 2));
  ASSERT_TRUE(succeeded(one.release()));
  EXPECT_EQ(waiters(watcher, name), 2u) << "one permit is free, and the first in line wants two";
  ASSERT_TRUE(succeeded(other.release()));
  ASSERT_TRUE(eventually([&] { return in.order().size() == 2; }));
  EXPECT_EQ(in.order(), first(2));
}

TEST_P(fifo_conformance, readers_and_writers_are_served_in_the_order_of_asking) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no shared_mutex";
  const client watcher = connect();
  const std::string name = unique_name("readers");
  shared_mutex m(watcher, name, fair);
  arrivals in;
  lease held = m.acquire();
  const auto note = [&in](int who) {
    return [&in, who](result<lease> got) {
      if (got) in.add(who);
    };
  };
  m.async_acquire().then(note(0));
  ASSERT_TRUE(waiting(watcher, name, 1));
  m.async_acquire_shared().then(note(1));
  ASSERT_TRUE(waiting(watcher, name, 2));
  m.async_acquire().then(note(2));
  ASSERT_TRUE(waiting(watcher, name, 3));
  m.async_acquire_shared().then(note(3));
  ASSERT_TRUE(waiting(watcher, name, 4));
  ASSERT_TRUE(succeeded(held.release()));
  ASSERT_TRUE(eventually([&] { return in.order().size() == 4; }));
  EXPECT_EQ(in.order(), first(4));
}

TEST_P(fifo_conformance, a_recursive_mutex_can_be_fair) {
  const client watcher = connect();
  const std::string name = unique_name("recursive");
  recursive_mutex m(watcher, name, fair);
  arrivals in;
  lease held = m.acquire();
  lease again = m.acquire();
  mutex other(connect(), name, fair);
  for (int i = 0; i < 4; ++i) {
    other.async_acquire().then([&in, i](result<lease> got) {
      if (got) in.add(i);
    });
    ASSERT_TRUE(waiting(watcher, name, static_cast<std::size_t>(i) + 1));
  }
  EXPECT_TRUE(in.order().empty());
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(in.order().empty()) << "still entered once";
  ASSERT_TRUE(succeeded(again.release()));
  ASSERT_TRUE(eventually([&] { return in.order().size() == 4; }));
  EXPECT_EQ(in.order(), first(4));
}

}  // namespace holdfast::testing
