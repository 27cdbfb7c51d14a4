#include "sqlite_fixture.hpp"

#include <filesystem>
#include <thread>

namespace holdfast::sqlite_tests {

using handover_test = sqlite_test;
using line = sqlite_client::line;

const spi::granted* grant_in(const result<spi::wake>& woken) {
  return woken ? std::get_if<spi::granted>(&*woken) : nullptr;
}

TEST_F(handover_test, leaving_grants_to_the_first_in_line_and_tells_it) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m", 7s);
  const auto first = a->take(held);
  b->queue(next);
  auto woken = b->watch(next);
  EXPECT_TRUE(a->leave(held));
  const auto got = woken.wait();
  const auto* grant = grant_in(got);
  ASSERT_NE(grant, nullptr);
  EXPECT_GT(grant->first_token, first.first_token);
  EXPECT_LE(grant->expires, clock_.now() + 7s);
  EXPECT_EQ(b->take(next).first_token, grant->first_token) << "the store has it too";
}

TEST_F(handover_test, a_grant_that_comes_before_the_watch_is_not_missed) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m");
  a->take(held);
  b->queue(next);
  a->leave(held);
  auto woken = b->watch(next);
  const auto got = woken.wait();
  ASSERT_TRUE(got);
}

TEST_F(handover_test, a_lost_message_is_made_up_for_by_entering_again) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m");
  a->take(held);
  b->queue(next);
  // As if the datagram had never come: nobody reads the mailboxes.
  for (const auto& file : std::filesystem::directory_iterator(path() + "-holdfast"))
    if (file.path().filename() != "turn") std::filesystem::remove(file.path());
  a->leave(held);
  EXPECT_TRUE(is_granted(b->enter(next)));
}

TEST_F(handover_test, however_long_the_path_the_next_one_is_told) {
  std::filesystem::path deep = directory_.path();
  for (int i = 0; i < 5; ++i) deep /= std::string(50, 'd');
  std::filesystem::create_directories(deep);
  const std::string where = "sqlite://" + (deep / "locks.db").string();
  sqlite_client a(clock_, where);
  sqlite_client b(clock_, where);
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m");
  a.take(held);
  b.queue(next);
  auto woken = b.watch(next);
  a.leave(held);
  EXPECT_NE(grant_in(woken.wait()), nullptr);
}

TEST_F(handover_test, the_line_is_served_in_order_over_all_clients) {
  auto a = client();
  auto b = client();
  auto c = client();
  std::vector<spi::claim> claims;
  std::vector<sqlite_client*> who{a.get(), b.get(), c.get(), b.get(), c.get()};
  for (std::size_t i = 0; i < who.size(); ++i) claims.push_back(mutex_claim("m"));
  std::uint64_t last = who[0]->take(claims[0]).first_token.value();
  for (std::size_t i = 1; i < who.size(); ++i) who[i]->queue(claims[i]);
  for (std::size_t i = 1; i < who.size(); ++i) {
    auto woken = who[i]->watch(claims[i]);
    who[i - 1]->leave(claims[i - 1]);
    const auto got = woken.wait();
    ASSERT_NE(grant_in(got), nullptr) << i;
    EXPECT_GT(grant_in(got)->first_token.value(), last);
    last = grant_in(got)->first_token.value();
  }
}

TEST_F(handover_test, readers_that_stand_together_come_in_together) {
  auto a = client();
  auto b = client();
  const auto writer = shared_claim("rw", spi::access::exclusive);
  const auto reader1 = shared_claim("rw", spi::access::shared);
  const auto reader2 = shared_claim("rw", spi::access::shared);
  const auto writer2 = shared_claim("rw", spi::access::exclusive);
  const auto reader3 = shared_claim("rw", spi::access::shared);
  a->take(writer);
  for (const auto* c : {&reader1, &reader2, &writer2, &reader3}) b->queue(*c);
  auto first = b->watch(reader1);
  auto second = b->watch(reader2);
  a->leave(writer);
  const auto got1 = first.wait();
  const auto got2 = second.wait();
  EXPECT_NE(grant_in(got1), nullptr);
  EXPECT_NE(grant_in(got2), nullptr);
  EXPECT_TRUE(is_busy(b->enter(writer2)));
  EXPECT_TRUE(is_busy(b->enter(reader3)));
  b->leave(reader1);
  EXPECT_TRUE(is_busy(b->enter(writer2)));
  b->leave(reader2);
  EXPECT_TRUE(is_granted(b->enter(writer2)));
}

TEST_F(handover_test, permits_are_given_in_order_while_they_fit) {
  auto a = client();
  const auto all = permit_claim("p", 3, 3);
  const auto two = permit_claim("p", 2, 3);
  const auto also_two = permit_claim("p", 2, 3);
  const auto one = permit_claim("p", 1, 3);
  a->take(all);
  for (const auto* c : {&two, &also_two, &one}) a->queue(*c);
  a->leave(all);
  EXPECT_TRUE(is_granted(a->enter(two)));
  EXPECT_TRUE(is_busy(a->enter(also_two)));
  EXPECT_TRUE(is_busy(a->enter(one))) << "one would fit, but stands behind";
  a->leave(two);
  EXPECT_TRUE(is_granted(a->enter(also_two)));
  EXPECT_TRUE(is_granted(a->enter(one)));
}

TEST_F(handover_test, who_leaves_the_line_is_told_and_forgotten) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  const auto gone = mutex_claim("m");
  a->take(held);
  b->queue(gone);
  auto woken = b->watch(gone);
  EXPECT_TRUE(b->leave(gone));
  EXPECT_TRUE(std::holds_alternative<spi::look_again>(woken.wait().value()));
  EXPECT_TRUE(a->inspect()[0].waiters.empty());
  a->leave(held);
  EXPECT_TRUE(a->inspect().empty());
}

TEST_F(handover_test, when_one_in_the_middle_leaves_the_one_behind_looks_again) {
  auto a = client();
  auto b = client();
  auto c = client();
  const auto held = mutex_claim("m");
  const auto middle = mutex_claim("m");
  const auto last = mutex_claim("m");
  a->take(held);
  b->queue(middle);
  c->queue(last);
  auto woken = c->watch(last);
  b->leave(middle);
  EXPECT_TRUE(std::holds_alternative<spi::look_again>(woken.wait().value()));
}

TEST_F(handover_test, a_thread_that_may_be_blocked_is_woken_with_the_grant) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m");
  a->take(held);
  result<spi::entry_result> got{errc::unavailable, ""};
  std::thread blocked([&] { got = b->enter(next, line::join, spi::caller::waits); });
  ASSERT_TRUE(eventually([&] { return !a->inspect()[0].waiters.empty(); }));
  a->leave(held);
  blocked.join();
  EXPECT_TRUE(is_granted(got));
}

TEST_F(handover_test, blocked_threads_behind_quick_holders_are_served_in_order) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  std::vector<spi::claim> claims;
  for (int i = 0; i < 6; ++i) claims.push_back(mutex_claim("m"));
  a->take(held);
  std::mutex mutex;
  std::vector<spi::owner_id> order;
  std::vector<std::thread> blocked;
  for (const auto& c : claims) {
    const std::size_t before = blocked.size();
    blocked.emplace_back([&, who = before % 2 == 0 ? a.get() : b.get()] {
      EXPECT_TRUE(is_granted(who->enter(c, line::join, spi::caller::waits)));
      {
        std::lock_guard lock(mutex);
        order.push_back(c.id);
      }
      EXPECT_TRUE(who->leave(c));
    });
    ASSERT_TRUE(eventually([&] { return a->inspect()[0].waiters.size() == before + 1; }));
  }
  a->leave(held);
  for (auto& t : blocked) t.join();
  ASSERT_EQ(order.size(), claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) EXPECT_EQ(order[i], claims[i].id) << i;
}

TEST_F(handover_test, a_blocked_thread_takes_over_when_the_holders_time_ends) {
  auto a = client();
  auto b = client();
  a->take(mutex_claim("m", 50ms));
  EXPECT_TRUE(is_granted(b->enter(mutex_claim("m"), line::join, spi::caller::waits)));
}

TEST_F(handover_test, eviction_tells_the_holder_and_lets_the_next_one_in) {
  auto a = client();
  auto b = client();
  const auto held = mutex_claim("m");
  const auto next = mutex_claim("m");
  a->take(held);
  b->queue(next);
  auto woken = b->watch(next);
  // At once: the holder has opened no mailbox yet, and is told all the same.
  EXPECT_TRUE(b->evict("m"));
  EXPECT_NE(grant_in(woken.wait()), nullptr);
  EXPECT_TRUE(eventually([&] { return a->runtime().was_lost(held.id); }));
  EXPECT_EQ(a->renew(held).what, spi::renewal::lost);
  EXPECT_FALSE(b->evict("nobody"));
}

TEST_F(handover_test, eviction_takes_every_reader_and_permit) {
  auto a = client();
  const auto one = shared_claim("rw", spi::access::shared);
  const auto two = shared_claim("rw", spi::access::shared);
  a->take(one);
  a->take(two);
  EXPECT_TRUE(a->evict("rw"));
  EXPECT_EQ(a->renew(one).what, spi::renewal::lost);
  EXPECT_EQ(a->renew(two).what, spi::renewal::lost);
  EXPECT_TRUE(a->inspect().empty());
}

TEST_F(handover_test, ten_thousand_readers_are_let_in_and_told) {
  auto a = client();
  auto b = client();
  const auto writer = shared_claim("rw", spi::access::exclusive);
  a->take(writer);
  constexpr std::size_t crowd = 10000;
  std::vector<spi::claim> readers;
  std::vector<answer<spi::wake>> woken;
  for (std::size_t i = 0; i < crowd; ++i) {
    readers.push_back(shared_claim("rw", spi::access::shared));
    b->queue(readers.back());
    woken.push_back(b->watch(readers.back()));
  }
  a->leave(writer);
  std::size_t granted = 0;
  for (auto& w : woken) {
    const auto got = w.wait();
    if (grant_in(got) != nullptr) ++granted;
  }
  EXPECT_EQ(granted, crowd);
}

}  // namespace holdfast::sqlite_tests
