#include <holdfast/testing/conformance.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <optional>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Runs `child()` in a forked process; its number, 0 meaning that all was well. The child must not return into the
/// test, nor may it run exit handlers that belong to the parent.
template <class Child>
int in_forked_child(Child child) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(20);  // A child that hangs is a failure, not a hanging test.
    int outcome = 99;
    try {
      outcome = child();
    } catch (...) {
    }
    ::_exit(outcome);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool refused(const std::error_code& code) {
  return code == make_error_code(errc::unsupported) || code == make_error_code(errc::not_owner);
}

template <class Action>
bool refuses(Action action) {
  try {
    static_cast<void>(action());
  } catch (const error& thrown) {
    return refused(thrown.code());
  }
  return false;
}

}  // namespace

TEST_P(fork_conformance, the_child_neither_releases_nor_renews_what_the_parent_holds) {
  const client watcher = connect();
  const std::string name = unique_name("untouched");
  std::optional<client> c = connect_with_ttl(900ms);
  std::optional<mutex> m(std::in_place, *c, name);
  std::optional<lease> held = m->acquire();
  const int outcome = in_forked_child([&] {
    if (!refused(held->renew().has_value() ? std::error_code() : held->renew().error().code)) return 1;
    const auto released = held->release();
    if (released || !refused(released.error().code)) return 2;
    held.reset();
    m.reset();
    c.reset();
    return 0;
  });
  EXPECT_EQ(outcome, 0);
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(holders(watcher, name), 1u);
  EXPECT_FALSE(mutex(watcher, name).try_acquire());
  const auto end = held->valid_until();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > end + 600ms; }));
  EXPECT_TRUE(held->valid()) << "the parent goes on renewing";
  EXPECT_TRUE(succeeded(held->release()));
  EXPECT_TRUE(nothing_left(watcher, name));
}

TEST_P(fork_conformance, calls_of_the_child_on_what_was_made_before_fail) {
  client c = connect();
  const std::string name = unique_name("calls");
  mutex m(c, name);
  recursive_mutex r(c, name + "/recursive");
  mutex locked(c, name + "/locked");
  locked.lock();
  const int outcome = in_forked_child([&] {
    if (!refuses([&] { return m.try_lock(); })) return 1;
    if (!refuses([&] {
          m.lock();
          return 0;
        }))
      return 2;
    if (!refuses([&] { return m.acquire(); })) return 3;
    if (!refuses([&] { return m.try_acquire(); })) return 4;
    if (!refuses([&] { return m.async_acquire().get(); })) return 5;
    if (!refuses([&] { return r.try_lock(); })) return 6;
    if (!refuses([&] { return c.inspect(name); })) return 7;
    if (!refuses([&] { return c.evict(name + "/locked"); })) return 8;
    locked.unlock();
    return 0;
  });
  EXPECT_EQ(outcome, 0);
  EXPECT_EQ(holders(c, name + "/locked"), 1u);
  locked.unlock();
}

TEST_P(fork_conformance, a_lease_is_not_valid_in_the_child) {
  const client c = connect();
  mutex m(c, unique_name("not-valid"));
  const lease held = m.acquire();
  EXPECT_EQ(in_forked_child([&] { return held.valid() ? 1 : 0; }), 0) << "two processes would both be inside";
  EXPECT_TRUE(held.valid());
}

TEST_P(fork_conformance, a_child_that_ends_in_the_usual_way_takes_nothing_from_the_parent) {
  const client watcher = connect();
  const std::string name = unique_name("exit");
  const client c = connect();
  mutex m(c, name);
  lease held = m.acquire();
  EXPECT_EQ(in_forked_child([&] {
              const lease moved = std::move(held);  // Its destructor runs here.
              return 0;
            }),
            0);
  EXPECT_EQ(holders(watcher, name), 1u);
  EXPECT_TRUE(succeeded(held.renew()));
}

TEST_P(fork_conformance, the_child_may_connect_again_and_is_excluded) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer starts no threads in the child of a process that had several";
#endif
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const client c = connect();
  const std::string name = unique_name("again");
  const std::string url = store().url();
  mutex m(c, name);
  lease held = m.acquire();
  const bool usable = store().usable_in_forked_child();
  const int outcome = in_forked_child([&] {
    if (!usable) return refuses([&] { return holdfast::connect(url); }) ? 0 : 3;
    const client own = holdfast::connect(url);
    mutex theirs(own, name);
    if (theirs.try_acquire()) return 1;
    mutex other(own, name + "/other");
    if (!other.try_acquire()) return 2;
    return 0;
  });
  EXPECT_EQ(outcome, 0);
  EXPECT_TRUE(succeeded(held.renew()));
}

TEST_P(fork_conformance, the_locks_of_a_parent_come_free_when_it_dies_although_a_child_lives) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string url = store().url();
  const std::string name = unique_name("orphan");
  const auto ttl = store().notices_death_at_once() ? 30s : 6s;
  int ready[2];
  int keep[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(keep), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const client own = holdfast::connect(url, {.ttl = ttl});
    mutex m(own, name);
    const lease held = m.acquire();
    if (::fork() == 0) {
      ::close(keep[1]);
      ::close(ready[0]);
      char byte = 0;
      static_cast<void>(!::read(keep[0], &byte, 1));  // Lives until the test lets go of the pipe.
      ::_exit(0);
    }
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) ::pause();
  }
  ::close(keep[0]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const client c = connect();
  mutex m(c, name);
  EXPECT_FALSE(m.try_acquire());
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  const auto wait = store().notices_death_at_once() ? 10s : 60s;
  EXPECT_TRUE(m.try_acquire({.wait = wait})) << "a forked child keeps its dead parent's lock";
  ::close(keep[1]);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace holdfast::testing
