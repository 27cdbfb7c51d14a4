#include <holdfast/testing/conformance.hpp>

#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Far below the ttl of thirty seconds that the killed holder had: nobody waited for that.
constexpr auto well_below_the_ttl = 10s;

std::string acquire_of(lock_kind kind, const std::string& name) {
  return std::string("acquire ") + to_string(kind) + " " + name;
}

/// A server that finds the end of a connection and a release at the same moment may do the release first, and hand over
/// to the dead. One that keeps its dead until their ttl ends is not waited for.
template <class Seen>
void let_it_see_the_death(const store_fixture& store, Seen seen) {
  if (!store.notices_death_at_once()) std::ignore = eventually(seen, promised_second);
}

}  // namespace

TEST_P(process_conformance, processes_exclude_each_other) {
  const std::string name = unique_name("processes");
  holder_process other = start_holder();
  auto ours = make(connect(), name);
  other.granted(acquire_of(kind(), name));
  EXPECT_FALSE(ours->try_acquire());
  EXPECT_EQ(other.ask("release"), "ok");
  const lease held = ours->acquire({.wait = live_timeout});
  EXPECT_EQ(other.ask(std::string("try ") + to_string(kind()) + " " + name), "busy");
}

TEST_P(process_conformance, releasing_wakes_another_process) {
  const std::string name = unique_name("wake");
  const client c = connect();
  auto ours = make(c, name);
  holder_process other = start_holder();
  lease held = ours->acquire();
  other.tell(acquire_of(kind(), name));
  ASSERT_TRUE(waiting(c, name, 1));
  const fencing_token first = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_GT(other.granted_reply(), first.value());
}

TEST_P(process_conformance, tokens_increase_between_processes) {
  const std::string name = unique_name("tokens");
  auto ours = make(connect(), name);
  holder_process one = start_holder();
  holder_process two = start_holder();
  std::uint64_t last = 0;
  const auto expect_greater = [&](std::uint64_t token) {
    EXPECT_GT(token, last);
    last = token;
  };
  for (int i = 0; i < 5; ++i) {
    for (holder_process* other : {&one, &two}) {
      expect_greater(other->granted(acquire_of(kind(), name)));
      EXPECT_EQ(other->ask("release"), "ok");
    }
    expect_greater(ours->acquire({.wait = live_timeout}).token().value());
  }
}

TEST_P(process_conformance, a_process_that_ends_leaves_nothing_behind) {
  const std::string name = unique_name("exit");
  const client c = connect();
  {
    holder_process other = start_holder();
    other.granted(acquire_of(kind(), name));
    EXPECT_EQ(other.exit(), 0);
  }
  EXPECT_TRUE(nothing_left(c, name));
}

TEST_P(process_conformance, a_killed_holder_frees_the_lock_for_who_comes_later) {
  const std::string name = unique_name("killed");
  auto ours = make(connect(), name);
  // Where only the ttl frees it, a short one does as well.
  holder_process other = store().notices_death_at_once() ? start_holder() : start_holder(2s);
  const std::uint64_t before = other.granted(acquire_of(kind(), name));
  other.kill();
  const auto wait = store().notices_death_at_once() ? well_below_the_ttl : live_timeout;
  const auto held = ours->try_acquire({.wait = wait});
  ASSERT_TRUE(held) << "the lock of a dead process is still held";
  EXPECT_GT(held->token().value(), before);
}

TEST_P(process_conformance, a_killed_holder_frees_the_lock_for_who_waits) {
  const std::string name = unique_name("killed-waited");
  const client c = connect();
  auto ours = make(c, name);
  // Where only the ttl frees it, a short one does as well.
  holder_process other = store().notices_death_at_once() ? start_holder() : start_holder(2s);
  const std::uint64_t before = other.granted(acquire_of(kind(), name));
  const auto wait = store().notices_death_at_once() ? well_below_the_ttl : live_timeout;
  auto next = ours->async_acquire({.wait = wait});
  ASSERT_TRUE(waiting(c, name, 1));
  other.kill();
  const lease held = next.get();
  EXPECT_GT(held.token().value(), before);
}

TEST_P(process_conformance, a_killed_waiter_does_not_block_those_behind_it) {
  const std::string name = unique_name("killed-waiter");
  const client c = connect();
  auto ours = make(c, name);
  auto behind = make(connect(), name);
  // Where only the ttl ends its place in line, a short one does as well.
  holder_process other = store().passes_over_dead_waiters() ? start_holder() : start_holder(2s);
  lease held = ours->acquire();
  other.tell(acquire_of(kind(), name));
  ASSERT_TRUE(waiting(c, name, 1));
  auto next = behind->async_acquire({.wait = store().passes_over_dead_waiters() ? well_below_the_ttl : live_timeout});
  ASSERT_TRUE(waiting(c, name, 2));
  other.kill();
  let_it_see_the_death(store(), [&] { return waiters(c, name) == 1; });
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(next.get().valid());
}

TEST_P(process_conformance, a_killed_waiter_is_gone_when_the_lock_comes_free) {
  const std::string name = unique_name("killed-waiter-only");
  const client c = connect();
  auto ours = make(c, name);
  // Where only the ttl ends its place in line, a short one does as well.
  holder_process other = store().passes_over_dead_waiters() ? start_holder() : start_holder(2s);
  lease held = ours->acquire();
  other.tell(acquire_of(kind(), name));
  ASSERT_TRUE(waiting(c, name, 1));
  other.kill();
  let_it_see_the_death(store(), [&] { return waiters(c, name) == 0; });
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(ours->try_acquire({.wait = store().passes_over_dead_waiters() ? well_below_the_ttl : live_timeout}))
      << "the lock went to a dead process";
}

TEST_P(process_conformance, a_paused_waiter_holds_up_those_behind_it_at_most_for_its_ttl) {
  const std::string name = unique_name("paused-waiter");
  const client c = connect();
  auto ours = make(c, name);
  auto behind = make(connect(), name);
  holder_process other = start_holder(1000ms);
  lease held = ours->acquire();
  other.tell(acquire_of(kind(), name));
  ASSERT_TRUE(waiting(c, name, 1));
  auto next = behind->async_acquire({.wait = live_timeout});
  ASSERT_TRUE(waiting(c, name, 2));
  other.pause();
  ASSERT_TRUE(succeeded(held.release()));
  if (store().expires_paused_holders()) {
    lease got = next.get();
    other.resume();
    EXPECT_FALSE(other.reply_within(short_wait)) << "two got in";
    ASSERT_TRUE(succeeded(got.release()));
  } else {
    next.then([](result<lease>) {});  // Whoever of the two the kernel chose, the other is next.
    other.resume();
  }
  EXPECT_GT(other.granted_reply(), 0u);
}

TEST_P(process_conformance, a_holder_paused_beyond_its_ttl_is_invalid_at_the_first_look) {
  const std::string name = unique_name("paused-valid");
  const client c = connect();
  auto ours = make(c, name);
  holder_process other = start_holder(700ms);
  const std::uint64_t before = other.granted(acquire_of(kind(), name));
  other.pause();
  const auto start = lease_clock::now();
  if (store().expires_paused_holders()) {
    const auto got = ours->try_acquire({.wait = live_timeout});
    ASSERT_TRUE(got) << "a paused holder keeps the lock beyond its ttl";
    EXPECT_GT(got->token().value(), before);
  }
  ASSERT_TRUE(eventually([&] { return lease_clock::now() - start > 900ms; }));
  other.tell("valid");  // Waits in the pipe: the first thing the process does when it goes on.
  other.tell("lost");
  other.tell("cause");
  other.tell("renew");
  other.resume();
  EXPECT_EQ(other.reply(), "no");
  EXPECT_EQ(other.reply(), "yes");
  EXPECT_NE(other.reply(), std::to_string(static_cast<int>(loss::none)));
  EXPECT_EQ(other.reply().substr(0, 7), "error " + std::to_string(static_cast<int>(errc::lost)));
}

TEST_P(process_conformance, a_holder_paused_beyond_its_ttl_is_told_of_the_loss_at_the_first_look) {
  const std::string name = unique_name("paused-lost");
  holder_process other = start_holder(700ms);
  other.granted(acquire_of(kind(), name));
  other.pause();
  const auto start = lease_clock::now();
  ASSERT_TRUE(eventually([&] { return lease_clock::now() - start > 900ms; }));
  other.tell("lost");
  other.tell("valid");
  other.tell("release");
  other.resume();
  EXPECT_EQ(other.reply(), "yes");
  EXPECT_EQ(other.reply(), "no");
  EXPECT_EQ(other.reply().substr(0, 7), "error " + std::to_string(static_cast<int>(errc::lost)));
}

TEST_P(process_conformance, a_holder_paused_beyond_its_ttl_does_not_end_the_hold_of_the_next) {
  const std::string name = unique_name("paused-unlock");
  if (!store().expires_paused_holders()) GTEST_SKIP() << "the kernel keeps the lock of a paused process";
  const client c = connect();
  auto ours = make(c, name);
  if (!ours->lockable()) GTEST_SKIP() << "no std face";
  holder_process other = start_holder(700ms);
  EXPECT_EQ(other.ask(std::string("lock ") + to_string(kind()) + " " + name), "ok");
  other.pause();
  lease held = ours->acquire({.wait = live_timeout});
  other.resume();
  EXPECT_EQ(other.ask(std::string("unlock ") + to_string(kind()) + " " + name), "ok");
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(holders(c, name), 1u);
  EXPECT_TRUE(succeeded(held.renew()));
}

TEST_P(process_conformance, a_holder_paused_for_less_than_its_ttl_keeps_the_lock) {
  const std::string name = unique_name("paused-briefly");
  auto ours = make(connect(), name);
  holder_process other = start_holder();
  other.granted(acquire_of(kind(), name));
  other.pause();
  EXPECT_FALSE(ours->try_acquire({.wait = short_wait}));
  other.resume();
  EXPECT_EQ(other.ask("valid"), "yes");
  EXPECT_EQ(other.ask("renew"), "ok");
  EXPECT_EQ(other.ask("release"), "ok");
}

TEST_P(process_conformance, another_process_can_be_cancelled_out_of_the_queue) {
  const std::string name = unique_name("cancelled");
  const client c = connect();
  auto ours = make(c, name);
  holder_process other = start_holder();
  const lease held = ours->acquire();
  other.tell(acquire_of(kind(), name));
  ASSERT_TRUE(waiting(c, name, 1));
  other.tell("cancel");
  EXPECT_EQ(other.reply().substr(0, 7), "error " + std::to_string(static_cast<int>(errc::cancelled)));
  EXPECT_TRUE(nobody_waits(c, name));
}

}  // namespace holdfast::testing
