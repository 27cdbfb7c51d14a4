#include "redisson_test.hpp"

// Names with braces, from which both sides must make the same keys and channels.

namespace holdfast::testing {

using namespace std::chrono_literals;

class redisson_name : public redisson_release_test {
 protected:
  std::string ask(const std::string& command, const std::string& thread = "main") {
    java()->tell(thread, command);
    return java()->reply_within(thread, live_timeout).value_or("no reply");
  }
  /// Java has what `waits` waits for, and lets go of it.
  template <class T>
  void expect_us_woken(operation<T> waits, const std::string& release) {
    EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait)) << release;
    const auto took = time_taken([&] {
      EXPECT_EQ(ask(release), "ok");
      (void)waits.get();
    });
    // Sooner than we would look anyway.
    EXPECT_LT(took, 900ms) << release;
  }
  template <class Action>
  void expect_java_woken(const std::string& command, Action&& release) {
    java()->tell("waiter", command);
    EXPECT_FALSE(java()->reply_within("waiter", short_wait)) << command;
    release();
    EXPECT_TRUE(java()->reply_within("waiter", 5s)) << command;
  }

  void expect_lock(const std::string& name, const std::string& kind, lock_options options) {
    mutex m(ours(), name, options);
    EXPECT_EQ(ask("acquire " + kind + " " + name), "granted");
    expect_us_woken(m.async_acquire(), "release " + kind + " " + name);
    lease held = m.acquire();
    expect_java_woken("acquire " + kind + " " + name, [&] { held.release().value(); });
    EXPECT_EQ(ask("release " + kind + " " + name, "waiter"), "ok");
  }
  void expect_read_write_lock(const std::string& name) {
    shared_mutex m(ours(), name);
    EXPECT_EQ(ask("acquire read " + name), "granted");
    lease reader = m.acquire_shared();
    EXPECT_EQ(ask("release read " + name), "ok");
    expect_java_woken("acquire write " + name, [&] { reader.release().value(); });
    auto waits = m.async_acquire_shared();
    EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
    EXPECT_EQ(ask("release write " + name, "waiter"), "ok");
    EXPECT_TRUE(waits.get().valid());
  }
  void expect_numbers(const std::string& name) {
    counting_semaphore semaphore(ours(), name);
    EXPECT_EQ(ask("set " + name + " 0"), "yes");
    expect_us_woken(semaphore.async_acquire(), "give " + name);
    expect_java_woken("take " + name, [&] { semaphore.release(); });
    server().command({"FLUSHALL"});
    EXPECT_EQ(ask("set_count " + name + " 1"), "yes");
    expect_us_woken(latch(ours(), name).async_wait(), "count_down " + name);
  }
};

TEST_P(redisson_name, names_with_braces_are_the_same_on_both_sides) {
  for (const std::string name : {"{tag}my", "my{tag}", "a{b", "a}b", "{}x"}) {
    SCOPED_TRACE(name);
    expect_lock(name, "lock", {});
    expect_lock(name, "fair", {.order = ordering::fifo});
    server().command({"FLUSHALL"});
    expect_read_write_lock(name);
    server().command({"FLUSHALL"});
    expect_numbers(name);
    server().command({"FLUSHALL"});
  }
}

INSTANTIATE_TEST_SUITE_P(every, redisson_name, ::testing::ValuesIn(redisson_versions()),
                         [](const auto& test) { return version_label(test.param); });

}  // namespace holdfast::testing
