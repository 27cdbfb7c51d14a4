#include "tickets.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis {

namespace {

struct woken {
  int times = 0;
  bool granted = false;
  spi::completion<spi::wake> watch() {
    return [this](const result<spi::wake>& why) {
      ++times;
      granted = std::holds_alternative<spi::granted>(*why);
    };
  }
};

}  // namespace

TEST(tickets, a_claim_that_is_not_in_line_is_told_at_once) {
  tickets t;
  woken w;
  t.watch("a", w.watch());
  EXPECT_EQ(w.times, 1);
  EXPECT_FALSE(w.granted);
}

TEST(tickets, what_comes_before_the_watch_is_kept_for_it) {
  tickets t;
  woken w;
  t.open("a", "c");
  t.wake("a", spi::granted{});
  t.wake("a", spi::look_again{});
  t.watch("a", w.watch());
  EXPECT_EQ(w.times, 1);
  EXPECT_TRUE(w.granted) << "a doubt does not take a grant back";
}

TEST(tickets, a_grant_is_news_to_nobody_only_if_nobody_waits_and_nobody_has_it) {
  tickets t;
  EXPECT_FALSE(t.wake("a", spi::granted{}));
  t.open("a", "c");
  EXPECT_TRUE(t.wake("a", spi::granted{}));
  t.settle("a");
  EXPECT_TRUE(t.wake("a", spi::granted{})) << "the answer came first";
  t.close("a");
  EXPECT_FALSE(t.wake("a", spi::granted{}));
  t.open("s", "c", spi::kind::semaphore);
  t.settle("s");
  EXPECT_FALSE(t.wake("s", spi::granted{})) << "what is never left is not remembered";
}

TEST(tickets, a_grant_that_was_given_up_meanwhile_is_old_news) {
  tickets t;
  woken w;
  t.open("a", "c");
  t.settle("a", fencing_token(7));
  t.open("a", "c");  // it yields, and the letter of what it had comes late
  t.watch("a", w.watch());
  EXPECT_TRUE(t.wake("a", spi::granted{fencing_token(7), 1, {}}));
  EXPECT_EQ(w.times, 0);
  EXPECT_TRUE(t.wake("a", spi::granted{fencing_token(8), 1, {}}));
  EXPECT_TRUE(w.granted);
}

TEST(tickets, what_cannot_be_heard_ends_the_watch_and_the_next) {
  tickets t;
  int failed = 0;
  const auto watch = [&] { return [&](const result<spi::wake>& why) { failed += why ? 0 : 1; }; };
  t.open("a", "c");
  t.watch("a", watch());
  t.fail("a", {errc::rejected, "no right"});
  t.watch("a", watch());
  EXPECT_EQ(failed, 2);
  EXPECT_TRUE(t.refusal("a"));
  EXPECT_FALSE(t.refusal("b"));
}

TEST(tickets, of_those_on_a_channel_the_oldest_is_woken) {
  tickets t;
  woken first;
  woken second;
  woken other;
  t.open("z", "c");
  t.open("a", "c");
  t.open("b", "d");
  t.watch("z", first.watch());
  t.watch("a", second.watch());
  t.watch("b", other.watch());
  t.wake_first_on("c");
  EXPECT_EQ(first.times, 1);
  EXPECT_EQ(second.times, 0);
  EXPECT_EQ(other.times, 0);
  t.close("z");
  t.wake_first_on("c");
  EXPECT_EQ(second.times, 1);
  t.wake_all();
  EXPECT_EQ(other.times, 1);
}

TEST(tickets, leaving_ends_the_watch_and_the_need) {
  tickets t;
  woken w;
  t.open("a", "c");
  EXPECT_TRUE(t.need("a"));
  EXPECT_FALSE(t.need("a"));
  EXPECT_TRUE(t.needed("c"));
  t.watch("a", w.watch());
  t.close("a");
  EXPECT_EQ(w.times, 1);
  EXPECT_FALSE(t.needed("c"));
}

}  // namespace holdfast::redis
