#include <holdfast/testing/conformance.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

TEST_P(fence_conformance, older_tokens_are_turned_away_and_equal_ones_admitted) {
  const std::string name = unique_name("admit");
  fence ours(connect(), name);
  fence theirs(connect(), name);
  EXPECT_EQ(ours.newest(), fencing_token(0));
  EXPECT_TRUE(ours.admit(5));
  EXPECT_TRUE(theirs.admit(5));
  EXPECT_FALSE(theirs.admit(4));
  EXPECT_TRUE(theirs.admit(6));
  EXPECT_FALSE(ours.admit(5));
  EXPECT_EQ(ours.newest(), fencing_token(6));
}

TEST_P(fence_conformance, a_token_that_was_turned_away_changes_nothing) {
  fence f(connect(), unique_name("unchanged"));
  EXPECT_TRUE(f.admit(9));
  EXPECT_FALSE(f.admit(3));
  EXPECT_EQ(f.newest(), fencing_token(9));
}

TEST_P(fence_conformance, large_tokens_are_compared_as_numbers) {
  fence f(connect(), unique_name("large"));
  EXPECT_TRUE(f.admit(9));
  EXPECT_TRUE(f.admit(10));
  EXPECT_TRUE(f.admit(std::uint64_t{1} << 53));
  EXPECT_TRUE(f.admit((std::uint64_t{1} << 53) + 1));
  EXPECT_FALSE(f.admit(std::uint64_t{1} << 53));
  EXPECT_TRUE(f.admit((std::uint64_t{1} << 62) + 1));
  EXPECT_FALSE(f.admit(std::uint64_t{1} << 62));
}

TEST_P(fence_conformance, fences_of_different_names_know_nothing_of_each_other) {
  const client c = connect();
  fence one(c, unique_name("one"));
  fence other(c, unique_name("other"));
  EXPECT_TRUE(one.admit(100));
  EXPECT_TRUE(other.admit(1));
}

TEST_P(fence_conformance, the_newest_token_outlives_the_clients) {
  const std::string name = unique_name("outlive");
  {
    EXPECT_TRUE(fence(connect(), name).admit(7));
  }
  EXPECT_FALSE(fence(connect(), name).admit(6));
  EXPECT_EQ(fence(connect(), name).newest(), fencing_token(7));
}

TEST_P(fence_conformance, the_tokens_of_a_lock_pass_its_fence_in_order) {
  const client c = connect();
  const std::string name = unique_name("lock");
  mutex m(c, name);
  fence f(c, name + "/fence");
  fencing_token stale = 0;
  {
    const lease first = m.acquire();
    stale = first.token();
    EXPECT_TRUE(f.admit(first.token()));
  }
  const lease second = m.acquire({.wait = live_timeout});
  EXPECT_TRUE(f.admit(second.token()));
  EXPECT_FALSE(f.admit(stale)) << "the write of a holder that was paused";
}

TEST_P(fence_conformance, processes_share_it) {
  if (!store().cross_process()) GTEST_SKIP() << "this store lives in one process";
  const std::string name = unique_name("processes");
  holder_process other = start_holder();
  EXPECT_EQ(other.ask("admit " + name + " 12"), "yes");
  EXPECT_FALSE(fence(connect(), name).admit(11));
  EXPECT_TRUE(fence(connect(), name).admit(13));
  EXPECT_EQ(other.ask("admit " + name + " 12"), "no");
}

TEST_P(fence_conformance, what_was_admitted_never_goes_back_under_contention) {
  const std::string name = unique_name("contention");
  const client c = connect();
  std::atomic<bool> back{false};
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        fence f(c, name);
        fencing_token seen = 0;
        for (std::uint64_t i = 0; i < 50; ++i) {
          static_cast<void>(f.admit(i * 4 + t + 1));
          const fencing_token now = f.newest();
          if (now < seen) back = true;
          seen = now;
        }
      });
    }
  }
  EXPECT_FALSE(back);
  EXPECT_EQ(fence(c, name).newest(), fencing_token(200));
}

}  // namespace holdfast::testing
