#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

// A thread that blocks for a lock without a limit reads what the server says itself; those with one, and those that do
// not block, are told by it or by the reactor.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// How often the reactors of this process have gone to sleep.
long reactor_sleeps() {
  long all = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "hf-reactor") continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("voluntary_ctxt_switches:")) all += std::stol(line.substr(line.find(':') + 1));
  }
  return all;
}

void wait_for_waiters(const client& c, const std::string& name, std::size_t count) {
  ASSERT_TRUE(eventually([&] {
    const auto all = c.inspect(name);
    return all.size() == 1 && all.front().waiters.size() == count;
  }));
}

}  // namespace

TEST(redis_waiting_thread, reads_for_itself) {
  const redis_server server;
  constexpr int rounds = 100;
  constexpr int crew = 4;
  std::atomic<long> slept = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < crew; ++t) {
      threads.emplace_back([&, t] {
        mutex m(connect(server.url()), "m");
        for (int i = 0; i < rounds; ++i) {
          const lease held = m.acquire();
          if (t == 0 && i == 20) slept = reactor_sleeps();                   // all have listened by now
          if (t == 0 && i == rounds - 20) slept = reactor_sleeps() - slept;  // nobody has ended yet
        }
      });
    }
  }
  EXPECT_LT(slept, crew * (rounds - 40) / 2) << "for each handover somebody else was woken";
}

TEST(redis_waiting_thread, hands_the_reading_on_when_it_is_served) {
  const redis_server server;
  client holder = connect(server.url());
  client waiter = connect(server.url());
  constexpr int names = 6;
  std::vector<std::unique_ptr<mutex>> held;
  std::vector<std::jthread> threads;
  std::atomic<int> served = 0;
  for (int i = 0; i < names; ++i) {
    const std::string name = "m" + std::to_string(i);
    held.push_back(std::make_unique<mutex>(holder, name));
    held.back()->lock();
    threads.emplace_back([&waiter, &served, name] {
      mutex m(waiter, name);
      m.lock();
      ++served;
      m.unlock();
    });
    wait_for_waiters(holder, name, 1);
  }
  // In any order: whoever reads is served in the midst of it, and others go on hearing.
  for (const int i : {3, 0, 5, 1, 4, 2}) {
    const int before = served;
    held[static_cast<std::size_t>(i)]->unlock();
    EXPECT_TRUE(eventually([&] { return served == before + 1; }));
  }
}

TEST(redis_waiting_thread, tells_those_who_wait_otherwise) {
  const redis_server server;
  client holder = connect(server.url());
  client waiter = connect(server.url());
  mutex reads(holder, "reads"), limited(holder, "limited"), asynchronous(holder, "asynchronous");
  lease first = reads.acquire();
  lease second = limited.acquire();
  lease third = asynchronous.acquire();
  lease evicted = mutex(waiter, "evicted").acquire();
  std::jthread reader([&] {
    mutex m(waiter, "reads");
    m.lock();
    m.unlock();
  });
  wait_for_waiters(holder, "reads", 1);
  std::atomic<bool> in_time = false;
  std::jthread timed([&] { in_time = mutex(waiter, "limited").try_acquire({.wait = live_timeout}).has_value(); });
  auto later = mutex(waiter, "asynchronous").async_acquire();
  wait_for_waiters(holder, "limited", 1);
  wait_for_waiters(holder, "asynchronous", 1);
  EXPECT_TRUE(holder.evict("evicted"));
  EXPECT_TRUE(eventually([&] { return evicted.lost().stop_requested(); }));
  EXPECT_TRUE(second.release());
  EXPECT_TRUE(eventually([&] { return in_time.load(); }));
  EXPECT_TRUE(third.release());
  EXPECT_TRUE(later.get().valid());
  EXPECT_TRUE(first.release());
}

TEST(redis_waiting_thread, is_not_forgotten_when_the_connection_breaks) {
  const redis_server server;
  client holder = connect(server.url());
  mutex ours(holder, "m");
  for (int i = 0; i < 5; ++i) {
    lease held = ours.acquire();
    std::jthread waiter([&] {
      mutex m(connect(server.url()), "m");
      m.lock();
      m.unlock();
    });
    wait_for_waiters(holder, "m", 1);
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_TRUE(held.release());
  }
}

}  // namespace holdfast::testing
