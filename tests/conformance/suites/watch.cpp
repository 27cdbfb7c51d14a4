#include <holdfast/testing/conformance.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// What callbacks told, in that order. Thread safety: safe.
template <class T>
class recorder {
 public:
  void operator()(const T& what) {
    const std::lock_guard lock(mutex_);
    seen_.push_back(what);
  }
  std::vector<T> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  template <class Predicate>
  bool gets(Predicate wanted) const {
    return eventually([&] {
      const auto all = seen();
      return std::any_of(all.begin(), all.end(), wanted);
    });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<T> seen_;
};

}  // namespace

TEST_P(watch_conformance, a_watch_tells_grants_releases_and_waits) {
  recorder<change> changes;  // Outlives the client whose threads call it.
  client watcher = connect();
  const std::string name = unique_name("watch");
  subscription watching = watcher.watch(name, std::ref(changes));
  mutex ours(connect(), name);
  mutex theirs(connect(), name);
  lease held = ours.acquire();
  const std::string id = held.id();
  EXPECT_TRUE(changes.gets([&](const change& c) {
    return c.what == change::kind::granted && c.name == name && c.lock_kind == "mutex" && c.who.owner == id;
  }));
  EXPECT_FALSE(theirs.try_acquire({.wait = 500ms}));
  EXPECT_TRUE(changes.gets([&](const change& c) { return c.what == change::kind::waiting && c.who.owner != id; }));
  EXPECT_TRUE(changes.gets([&](const change& c) { return c.what == change::kind::left && c.who.owner != id; }));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(changes.gets([&](const change& c) { return c.what == change::kind::released && c.who.owner == id; }));
  watching.cancel();
}

TEST_P(watch_conformance, a_watch_starts_with_what_is_there) {
  recorder<change> changes;
  client watcher = connect();
  const std::string name = unique_name("there");
  mutex ours(connect(), name);
  mutex theirs(connect(), name);
  const lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(waiting(watcher, name, 1));
  subscription watching = watcher.watch(name, std::ref(changes));
  EXPECT_TRUE(
      changes.gets([&](const change& c) { return c.what == change::kind::granted && c.who.owner == held.id(); }));
  EXPECT_TRUE(changes.gets([&](const change& c) { return c.what == change::kind::waiting; }));
  watching.cancel();
}

TEST_P(watch_conformance, a_watch_tells_of_its_prefix_only) {
  recorder<change> changes;
  client watcher = connect();
  const std::string name = unique_name("prefix");
  subscription watching = watcher.watch(name + "/in", std::ref(changes));
  mutex outside(watcher, name + "/out");
  mutex inside(watcher, name + "/inside");
  const lease one = outside.acquire();
  const lease two = inside.acquire();
  EXPECT_TRUE(changes.gets([&](const change& c) { return c.name == name + "/inside"; }));
  for (const change& c : changes.seen()) EXPECT_NE(c.name, name + "/out");
  watching.cancel();
}

TEST_P(watch_conformance, a_cancelled_watch_is_silent) {
  recorder<change> changes;
  client watcher = connect();
  const std::string name = unique_name("silent");
  subscription watching = watcher.watch(name, std::ref(changes));
  mutex m(watcher, name);
  {
    const lease held = m.acquire();
  }
  watching.cancel();
  watching.cancel();
  const auto count = changes.seen().size();
  {
    const lease held = m.acquire({.wait = live_timeout});
  }
  EXPECT_FALSE(eventually([&] { return changes.seen().size() != count; }, short_wait));
}

TEST_P(watch_conformance, a_watch_may_be_cancelled_from_its_callback) {
  client watcher = connect();
  const std::string name = unique_name("from-callback");
  std::promise<subscription*> given;
  auto watching_itself = given.get_future().share();
  std::promise<void> told;
  std::once_flag once;
  subscription watching = watcher.watch(name, [&](const change&) {
    watching_itself.get()->cancel();
    std::call_once(once, [&] { told.set_value(); });
  });
  given.set_value(&watching);
  mutex m(watcher, name);
  const lease held = m.acquire();
  EXPECT_EQ(told.get_future().wait_for(live_timeout), std::future_status::ready);
  watching.cancel();
}

TEST_P(watch_conformance, a_watch_callback_that_throws_harms_nobody) {
  client watcher = connect();
  const std::string name = unique_name("throws");
  std::atomic<int> calls{0};
  subscription watching = watcher.watch(name, [&](const change&) {
    ++calls;
    throw std::runtime_error("thrown by the callback");
  });
  mutex m(watcher, name);
  {
    const lease held = m.acquire();
    EXPECT_TRUE(eventually([&] { return calls > 0; }));
  }
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
  watching.cancel();
}

TEST_P(watch_conformance, a_watch_sees_other_processes_and_their_end) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  recorder<change> changes;
  client watcher = connect();
  const std::string name = unique_name("process");
  subscription watching = watcher.watch(name, std::ref(changes));
  holder_process other = start_holder();
  other.granted("acquire mutex " + name);
  EXPECT_TRUE(
      changes.gets([&](const change& c) { return c.what == change::kind::granted && c.who.pid == other.pid(); }));
  EXPECT_EQ(other.ask("release"), "ok");
  EXPECT_TRUE(changes.gets([&](const change& c) { return c.what == change::kind::released; }));
  watching.cancel();
}

TEST_P(watch_conformance, events_tell_what_happens_to_the_clients_own_leases) {
  recorder<event> events;
  client c = connect_with_ttl(1500ms);
  c.on_event(std::ref(events));
  const std::string name = unique_name("events");
  mutex m(c, name);
  lease held = m.acquire();
  const fencing_token token = held.token();
  EXPECT_TRUE(events.gets(
      [&](const event& e) { return e.what == event::kind::acquired && e.name == name && e.token == token; }));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(events.gets([&](const event& e) { return e.what == event::kind::released && e.token == token; }));
  lease lost = m.acquire({.wait = live_timeout});
  store().lose(name);
  EXPECT_TRUE(events.gets([&](const event& e) {
    return e.what == event::kind::lost && e.name == name && e.token == lost.token() && e.cause == loss::taken;
  }));
}

TEST_P(watch_conformance, events_of_other_clients_are_not_told) {
  recorder<event> events;
  client c = connect();
  c.on_event(std::ref(events));
  const std::string name = unique_name("other-events");
  mutex ours(c, unique_name("our-event"));
  mutex theirs(connect(), name);
  {
    const lease held = theirs.acquire();
  }
  {
    const lease held = ours.acquire();
  }
  EXPECT_TRUE(events.gets([&](const event& e) { return e.what == event::kind::released; }));
  for (const event& e : events.seen()) EXPECT_NE(e.name, name);
}

TEST_P(watch_conformance, an_event_callback_may_use_locks) {
  client c = connect();
  const std::string name = unique_name("callback-locks");
  mutex second(c, name + "/second");
  std::promise<bool> told;
  std::atomic<int> calls{0};
  c.on_event([&](const event& e) {
    if (e.name == name && e.what == event::kind::acquired) told.set_value(second.try_acquire().has_value());
    ++calls;
  });
  mutex m(c, name);
  lease held = m.acquire();
  auto outcome = told.get_future();
  ASSERT_EQ(outcome.wait_for(live_timeout), std::future_status::ready);
  EXPECT_TRUE(outcome.get());
  ASSERT_TRUE(succeeded(held.release()));
  // Two locks, each acquired and released: then no call is left that could look at what ends with this test.
  ASSERT_TRUE(eventually([&] { return calls == 4; }));
}

}  // namespace holdfast::testing
