#include "sqlite_fixture.hpp"

#include <holdfast/testing/holder_process.hpp>

#include <sched.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>

namespace holdfast::sqlite_tests {

using testing::holder_process;
using testing::time_taken;
using line = sqlite_client::line;

class death_test : public sqlite_test {
 protected:
  holder_process holder() { return holder_process::connected(url(), 60s); }
  void wait_for_waiters(sqlite_client& looker, std::size_t n) {
    ASSERT_TRUE(eventually([&] {
      const auto all = looker.inspect();
      return !all.empty() && all[0].waiters.size() == n;
    }));
  }
  std::size_t mailboxes() const {
    std::size_t n = 0;
    for (const auto& file : std::filesystem::directory_iterator(path() + "-holdfast"))
      if (file.is_socket()) ++n;
    return n;
  }
};

// Far below the ttl of a minute: the death was noticed, not waited for.
constexpr auto at_once = 10s;

TEST_F(death_test, a_killed_holder_is_replaced_at_once_by_one_who_comes_after) {
  auto dead = holder();
  dead.granted("acquire mutex m");
  dead.kill();
  auto a = client();
  a->take(mutex_claim("m"));
}

TEST_F(death_test, a_killed_holder_is_replaced_at_once_by_one_who_watches) {
  auto dead = holder();
  const auto token = dead.granted("acquire mutex m");
  auto a = client();
  const auto next = mutex_claim("m");
  a->queue(next);
  auto woken = a->watch(next);
  EXPECT_LT(time_taken([&] {
              dead.kill();
              EXPECT_TRUE(woken.wait());
            }),
            at_once);
  EXPECT_GT(a->take(next).first_token.value(), token);
}

TEST_F(death_test, a_killed_holder_is_replaced_at_once_by_one_who_blocks) {
  auto dead = holder();
  dead.granted("acquire mutex m");
  auto a = client();
  auto looker = client();
  result<spi::entry_result> got{errc::unavailable, ""};
  std::thread blocked([&] { got = a->enter(mutex_claim("m"), line::join, spi::caller::waits); });
  wait_for_waiters(*looker, 1);
  EXPECT_LT(time_taken([&] {
              dead.kill();
              blocked.join();
            }),
            at_once);
  EXPECT_TRUE(is_granted(got));
}

TEST_F(death_test, a_killed_waiter_is_passed_over) {
  auto a = client();
  const auto held = mutex_claim("m");
  a->take(held);
  auto dead = holder();
  dead.tell("acquire mutex m");
  wait_for_waiters(*a, 1);
  auto last = holder();
  last.tell("acquire mutex m");
  wait_for_waiters(*a, 2);
  dead.kill();
  wait_for_waiters(*a, 1);
  a->leave(held);
  last.granted_reply();
}

TEST_F(death_test, a_waiter_killed_at_the_handover_costs_its_successor_nothing) {
  auto a = client();
  const auto held = mutex_claim("m");
  a->take(held);
  auto dead = holder();
  dead.tell("acquire mutex m");
  wait_for_waiters(*a, 1);
  auto last = holder();
  last.tell("acquire mutex m");
  wait_for_waiters(*a, 2);
  dead.pause();
  a->leave(held);  // granted to one that cannot hear it any more
  EXPECT_LT(time_taken([&] {
              dead.kill();
              last.granted_reply();
            }),
            at_once);
}

TEST_F(death_test, killed_readers_and_permits_are_given_back_at_once) {
  auto reader = holder();
  reader.granted("acquire reader rw");
  auto permits = holder();
  permits.granted("acquire permits p of=3 permits=3");
  auto a = client();
  auto b = client();
  const auto writer = shared_claim("rw", spi::access::exclusive);
  const auto one = permit_claim("p", 1, 3);
  a->queue(writer);
  b->queue(one);
  auto first = a->watch(writer);
  auto second = b->watch(one);
  reader.kill();
  permits.kill();
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(second.wait());
  a->take(writer);
  b->take(one);
}

TEST_F(death_test, of_several_readers_each_death_is_noticed) {
  auto first = holder();
  auto second = holder();
  auto a = client();
  const auto writer0 = shared_claim("rw", spi::access::exclusive);
  a->take(writer0);
  first.tell("acquire reader rw");
  wait_for_waiters(*a, 1);
  second.tell("acquire reader rw");
  wait_for_waiters(*a, 2);
  auto b = client();
  const auto writer = shared_claim("rw", spi::access::exclusive);
  b->queue(writer);
  a->leave(writer0);
  first.granted_reply();
  second.granted_reply();
  // Told to look again when the readers came in, it stands behind both of them now.
  ASSERT_TRUE(b->watch(writer).wait());
  b->queue(writer);
  EXPECT_EQ(second.ask("release").rfind("ok", 0), 0U);
  auto woken = b->watch(writer);
  first.kill();
  EXPECT_TRUE(woken.wait());
  b->take(writer);
}

TEST_F(death_test, the_dead_are_never_shown) {
  auto dead = holder();
  dead.granted("acquire mutex m");
  auto a = client();
  EXPECT_EQ(a->inspect().size(), 1U);
  dead.kill();
  EXPECT_TRUE(a->inspect().empty());
}

TEST_F(death_test, observers_hear_of_a_death) {
  auto dead = holder();
  dead.granted("acquire mutex m");
  auto a = client();
  std::atomic<int> heard{0};
  const auto stop = a->store().observe("", [&] { ++heard; });
  a->inspect();
  dead.kill();
  EXPECT_TRUE(eventually([&] { return heard > 0; }));
  stop();
}

TEST_F(death_test, a_stopped_holder_is_not_dead) {
  auto paused = holder();
  paused.granted("acquire mutex m");
  paused.pause();
  auto a = client();
  EXPECT_TRUE(is_busy(a->enter(mutex_claim("m"), line::pass_by)));
  paused.resume();
  EXPECT_EQ(paused.ask("release").rfind("ok", 0), 0U);
}

TEST_F(death_test, a_child_of_the_holder_does_not_keep_the_lock_alive) {
  // The child has all descriptors of the holder, but is not the process that took the lock.
  int ready[2];
  int until_the_end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(until_the_end), 0);
  const pid_t holder_pid = ::fork();
  if (holder_pid == 0) {
    ::close(until_the_end[1]);
    movable_clock clock;
    sqlite_client c(clock, url());
    c.take(mutex_claim("m", 60s));
    char byte = 0;
    if (::fork() == 0) ::_exit(static_cast<int>(::read(until_the_end[0], &byte, 1)));
    [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto a = client();
  EXPECT_TRUE(is_busy(a->enter(mutex_claim("m"), line::pass_by)));
  ::kill(holder_pid, SIGKILL);
  ::waitpid(holder_pid, nullptr, 0);
  a->take(mutex_claim("m"));
  for (const int fd : {ready[0], ready[1], until_the_end[0], until_the_end[1]}) ::close(fd);
}

TEST_F(death_test, a_zombie_is_dead) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder_pid = ::fork();
  if (holder_pid == 0) {
    movable_clock clock;
    sqlite_client c(clock, url());
    c.take(mutex_claim("m", 60s));
    [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(holder_pid, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(holder_pid), &info, WEXITED | WNOWAIT), 0);
  auto a = client();
  a->take(mutex_claim("m"));
  ::waitpid(holder_pid, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(death_test, across_pid_namespaces_only_the_ttl_tells) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    // Its children are in a namespace of their own.
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t inner = ::fork();
    if (inner == 0) {
      movable_clock clock;
      sqlite_client c(clock, url());
      c.take(mutex_claim("m", 60s));
      ::_exit(0);  // without a word, as if it had been killed
    }
    ::waitpid(inner, nullptr, 0);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "pid namespaces need more rights than this test has";
  auto a = client();
  EXPECT_TRUE(is_busy(a->enter(mutex_claim("m"), line::pass_by)));
  clock_.advance(61s);
  a->take(mutex_claim("m"));
}

TEST_F(death_test, mailboxes_of_the_dead_are_removed) {
  auto a = client();
  const auto held = mutex_claim("m");
  a->take(held);
  auto dead = holder();
  dead.tell("acquire mutex m wait=60000");
  wait_for_waiters(*a, 1);
  ASSERT_TRUE(eventually([&] { return mailboxes() == 2; }));
  dead.kill();
  EXPECT_TRUE(eventually([&] { return a->inspect()[0].waiters.empty(); }));
  EXPECT_EQ(mailboxes(), 1U);
}

TEST_F(death_test, mailboxes_go_with_their_clients) {
  {
    auto a = client();
    auto b = client();
    a->take(mutex_claim("m"));
    b->queue(mutex_claim("m"));
    EXPECT_GE(mailboxes(), 1U);
  }
  EXPECT_EQ(mailboxes(), 0U);
}

}  // namespace holdfast::sqlite_tests
