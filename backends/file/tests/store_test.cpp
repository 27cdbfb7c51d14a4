#include "file_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace holdfast::file_tests {
namespace {

TEST_F(file_store, it_says_what_it_can_do) {
  const auto can = one.store->supports();
  EXPECT_TRUE(can.mutex && can.shared_mutex && can.permits && can.raise_token);
  EXPECT_FALSE(can.fifo || can.semaphore || can.latch || can.cell || can.fence);
}

TEST_F(file_store, one_directory_has_one_identity_by_whatever_path) {
  EXPECT_EQ(one.store->identity(), two.store->identity());
  EXPECT_EQ(one.store->identity(), member(url() + "/").store->identity());
  EXPECT_EQ(one.store->identity(), member("file://" + path().string() + "/../locks").store->identity());
  EXPECT_NE(one.store->identity(), member(url() + "/below").store->identity());
}

TEST_F(file_store, files_are_private) {
  one.take(mutex_claim("x"));
  struct stat directory{}, file{};
  ASSERT_EQ(::stat(path().c_str(), &directory), 0);
  ASSERT_EQ(::stat((path() / "x").c_str(), &file), 0);
  EXPECT_EQ(directory.st_mode & 0777, 0700u);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(file_store, inspect_shows_holders_and_waiters_in_order) {
  const auto held = mutex_claim("b/1"), first = mutex_claim("b/1"), second = mutex_claim("b/1");
  const auto before = std::chrono::system_clock::now();
  const auto grant = one.take(held);
  ASSERT_TRUE(one.is_busy(first, true));
  ASSERT_TRUE(two.is_busy(second, true));
  one.take(mutex_claim("b/0"));
  one.take(mutex_claim("c"));
  const auto shown = two.inspect("b/");
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].name, "b/0");
  EXPECT_EQ(shown[1].kind, "mutex");
  ASSERT_EQ(shown[1].holders.size(), 1u);
  const participant& holder = shown[1].holders[0];
  EXPECT_EQ(holder.owner, held.id.hex());
  EXPECT_EQ(holder.token, grant.first_token);
  EXPECT_EQ(holder.host, "machine");
  EXPECT_EQ(holder.pid, ::getpid());
  EXPECT_EQ(holder.client_name, "tester");
  EXPECT_GE(holder.since, before);
  EXPECT_EQ(holder.remaining, 30s);
  ASSERT_EQ(shown[1].waiters.size(), 2u);
  EXPECT_EQ(shown[1].waiters[0].owner, first.id.hex());
  EXPECT_EQ(shown[1].waiters[1].owner, second.id.hex());
  EXPECT_EQ(shown[1].waiters[0].token, fencing_token(0));
}

TEST_F(file_store, inspect_shows_who_came_in_by_the_line_once) {
  const auto held = mutex_claim(), next = mutex_claim();
  one.take(held);
  ASSERT_TRUE(two.is_busy(next, true));
  one.leave(held);
  two.take(next);
  const auto shown = one.inspect();
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].holders.size(), 1u);
  EXPECT_TRUE(shown[0].waiters.empty());
}

TEST_F(file_store, long_names_are_locked_and_shown_whole) {
  const std::string longest(512, '/');
  one.take(mutex_claim(longest));
  EXPECT_TRUE(two.is_busy(mutex_claim(longest)));
  two.take(mutex_claim(longest.substr(1)));
  const auto shown = one.inspect("//");
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].name, longest.substr(1));
  EXPECT_EQ(shown[1].name, longest);
}

TEST_F(file_store, evicting_own_claims_tells_them_and_lets_the_next_in) {
  const auto r1 = reader(), r2 = reader(), w = writer();
  one.take(r1);
  two.take(r2);
  ASSERT_TRUE(two.is_busy(w, true));
  answer<spi::wake> woken;
  two.store->watch(w, woken.slot());
  EXPECT_TRUE(two.evict("a").value());
  EXPECT_TRUE(looks_again(woken));
  ASSERT_EQ(one.engine.lost_so_far().size(), 1u);
  EXPECT_EQ(one.engine.lost_so_far()[0], std::make_pair(r1.id, loss::taken));
  EXPECT_EQ(two.engine.lost_so_far().size(), 1u);
  EXPECT_EQ(one.renew(r1), spi::renewal::lost);
  EXPECT_FALSE(one.leave(r1));
  two.take(w);
}

TEST_F(file_store, evicting_what_nobody_holds_is_false) {
  EXPECT_FALSE(one.evict("nothing").value());
  const auto c = mutex_claim("left");
  one.take(c);
  one.leave(c);
  EXPECT_FALSE(one.evict("left").value());
}

TEST_F(file_store, observers_hear_of_changes_until_they_end) {
  std::atomic<int> heard{0};
  const auto end = one.store->observe("ab", [&] { ++heard; });
  const auto held = mutex_claim("abc"), other = mutex_claim("x");
  two.take(held);
  EXPECT_TRUE(eventually([&] { return heard > 0; }));
  const int before = heard;
  two.leave(held);
  EXPECT_TRUE(eventually([&] { return heard > before; }, 1s)) << "a release is heard of within a second";
  end();
  const int last = heard;
  two.take(held);
  EXPECT_FALSE(eventually([&] { return heard != last; }, 60ms));
}

TEST_F(file_store, an_observer_may_end_itself) {
  std::atomic<int> heard{0};
  std::promise<std::function<void()>> given;
  auto end = given.get_future().share();
  given.set_value(one.store->observe("", [&] {
    ++heard;
    end.get()();
  }));
  two.take(mutex_claim());
  EXPECT_TRUE(eventually([&] { return heard == 1; }));
  two.take(mutex_claim("b"));
  EXPECT_FALSE(eventually([&] { return heard != 1; }, 60ms));
}

}  // namespace
}  // namespace holdfast::file_tests
