#include <holdfast/testing/conformance.hpp>
#include <holdfast/testing/scale.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

// The classic: many contenders, a plain counter, an exact total. A lost update is a broken lock.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr int crowds[] = {10, 100, 200};

/// How far each of `contenders` counts, so that together they count to about `total`.
int share_of(int total, int contenders) { return std::max(1, scaled(total) / contenders); }

/// Not atomic, on purpose; written with a pause between reading and writing.
struct plain_counter {
  void increment() {
    const int seen = value;
    std::this_thread::yield();
    value = seen + 1;
  }
  int value = 0;
};

/// Runs `contend(index)` on that many threads at once.
void run_contenders(int contenders, const std::function<void(int)>& contend) {
  std::atomic<bool> go{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < contenders; ++t) {
    threads.emplace_back([&, t] {
      go.wait(false);
      contend(t);
    });
  }
  go = true;
  go.notify_all();
}

/// Each contender locks and counts; `lock_of(index)` is the object it uses.
template <class Lock>
void expect_exact_total(int contenders, const std::function<Lock&(int)>& lock_of) {
  const int share = share_of(4000, contenders);
  plain_counter counter;
  run_contenders(contenders, [&](int index) {
    Lock& lock = lock_of(index);
    for (int i = 0; i < share; ++i) {
      const std::lock_guard guard(lock);
      counter.increment();
    }
  });
  EXPECT_EQ(counter.value, contenders * share) << contenders << " contenders";
}

template <class Lock>
void count_sharing_one_object(const client& c) {
  for (const int contenders : crowds) {
    Lock lock(c, unique_name("shared-object"));
    expect_exact_total<Lock>(contenders, [&](int) -> Lock& { return lock; });
  }
}

/// `clients` are dealt out in turn: contenders of one client meet in its gate, those of different ones in the store.
template <class Lock>
void count_with_one_object_each(const std::vector<client>& clients) {
  for (const int contenders : crowds) {
    const std::string name = unique_name("own-object");
    std::vector<std::unique_ptr<Lock>> locks;
    for (int t = 0; t < contenders; ++t) {
      locks.push_back(std::make_unique<Lock>(clients[static_cast<std::size_t>(t) % clients.size()], name));
    }
    expect_exact_total<Lock>(contenders, [&](int t) -> Lock& { return *locks[static_cast<std::size_t>(t)]; });
  }
}

/// Nine of ten read and check; one writes both halves of a pair that must always agree.
void count_with_readers(int contenders, const std::function<shared_mutex&(int)>& lock_of) {
  const int share = share_of(3000, contenders);
  plain_counter left;
  plain_counter right;
  std::atomic<int> torn{0};
  std::atomic<int> writes{0};
  run_contenders(contenders, [&](int index) {
    shared_mutex& lock = lock_of(index);
    for (int i = 0; i < share; ++i) {
      if ((index + i) % 10 == 0) {
        const std::unique_lock guard(lock);
        left.increment();
        right.increment();
        ++writes;
      } else {
        const std::shared_lock guard(lock);
        const int seen = left.value;
        std::this_thread::yield();
        if (right.value != seen) ++torn;
      }
    }
  });
  EXPECT_EQ(torn, 0) << "a reader saw half a write, with " << contenders << " contenders";
  EXPECT_EQ(left.value, writes.load());
  EXPECT_EQ(right.value, writes.load());
}

}  // namespace

TEST_P(thread_contenders, threads_sharing_one_mutex_count_exactly) { count_sharing_one_object<mutex>(connect()); }

TEST_P(thread_contenders, threads_with_a_mutex_each_count_exactly) { count_with_one_object_each<mutex>({connect()}); }

TEST_P(thread_contenders, threads_of_many_clients_with_a_mutex_each_count_exactly) {
  count_with_one_object_each<mutex>({connect(), connect(), connect(), connect(), connect()});
}

TEST_P(thread_contenders, threads_sharing_one_recursive_mutex_count_exactly) {
  count_sharing_one_object<recursive_mutex>(connect());
}

TEST_P(thread_contenders, threads_with_a_recursive_mutex_each_count_exactly) {
  count_with_one_object_each<recursive_mutex>({connect(), connect()});
}

TEST_P(thread_contenders, threads_that_re_enter_count_exactly) {
  recursive_mutex lock(connect(), unique_name("re-enter"));
  const int share = share_of(2000, 10);
  plain_counter counter;
  run_contenders(10, [&](int) {
    for (int i = 0; i < share; ++i) {
      const std::lock_guard outer(lock);
      counter.increment();
      const lease inner = lock.acquire();
      counter.increment();
    }
  });
  EXPECT_EQ(counter.value, 2 * 10 * share);
}

TEST_P(thread_contenders, threads_sharing_one_shared_mutex_count_and_read_exactly) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no shared_mutex";
  const client c = connect();
  for (const int contenders : crowds) {
    shared_mutex lock(c, unique_name("shared-object"));
    count_with_readers(contenders, [&](int) -> shared_mutex& { return lock; });
  }
}

TEST_P(thread_contenders, threads_with_a_shared_mutex_each_count_and_read_exactly) {
  if (!supports().shared_mutex) GTEST_SKIP() << "this store has no shared_mutex";
  const std::vector<client> clients{connect(), connect()};
  for (const int contenders : crowds) {
    const std::string name = unique_name("own-object");
    std::vector<std::unique_ptr<shared_mutex>> locks;
    for (int t = 0; t < contenders; ++t) {
      locks.push_back(std::make_unique<shared_mutex>(clients[static_cast<std::size_t>(t) % 2], name));
    }
    count_with_readers(contenders, [&](int t) -> shared_mutex& { return *locks[static_cast<std::size_t>(t)]; });
  }
}

TEST_P(thread_contenders, tokens_increase_in_the_order_of_the_grants) {
  const client one = connect();
  const client two = connect();
  const std::string name = unique_name("tokens");
  const int share = share_of(1000, 20);
  std::vector<std::uint64_t> in_order;  // Guarded by the mutex under test.
  run_contenders(20, [&](int index) {
    mutex m(index % 2 == 0 ? one : two, name);
    for (int i = 0; i < share; ++i) {
      const lease held = m.acquire();
      in_order.push_back(held.token().value());
    }
  });
  ASSERT_EQ(in_order.size(), static_cast<std::size_t>(20 * share));
  EXPECT_EQ(std::adjacent_find(in_order.begin(), in_order.end(), std::greater_equal<>()), in_order.end());
}

TEST_P(thread_contenders, nobody_starves) {
  // Two greedy clients and one that comes now and then: it must get its turn although the others hand over among
  // themselves without a pause.
  const std::string name = unique_name("starve");
  std::atomic<bool> over{false};
  std::vector<std::jthread> greedy;
  for (int i = 0; i < 2; ++i) {
    greedy.emplace_back([&, c = connect()] {
      mutex m(c, name);
      std::vector<std::jthread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
          while (!over) {
            const std::lock_guard guard(m);
            std::this_thread::yield();
          }
        });
      }
    });
  }
  mutex modest(connect(), name);
  for (int i = 0; i < 5; ++i) {
    if (!modest.try_lock_for(live_timeout)) {
      ADD_FAILURE() << "starved in turn " << i;
      break;
    }
    modest.unlock();
  }
  over = true;
}

}  // namespace holdfast::testing
