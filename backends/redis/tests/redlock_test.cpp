#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_server.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <thread>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

class redlock : public ::testing::Test {
 protected:
  void start(std::size_t servers, const std::vector<std::string>& settings = {}) {
    for (std::size_t i = 0; i < servers; ++i) servers_.emplace_back(settings);
  }
  std::string url(const std::string& options = "?restarted=vote") const {
    std::string hosts;
    for (const auto& server : servers_)
      hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(server.port()));
    return "redlock://" + hosts + options;
  }
  /// How many servers know a lock of this name.
  std::size_t votes(const std::string& name) const {
    std::size_t all = 0;
    for (const auto& server : servers_) all += server.command({"EXISTS", name}) == ":1" ? 1 : 0;
    return all;
  }

  std::deque<redis_server> servers_;
};

}  // namespace

TEST_F(redlock, a_lock_is_held_at_every_server_and_gone_from_all_of_them) {
  start(5);
  mutex m(connect(url()), "m");
  {
    const lease held = m.acquire();
    EXPECT_TRUE(eventually([&] { return votes("m") == 5; }));
    EXPECT_TRUE(held.valid());
  }
  EXPECT_TRUE(eventually([&] { return votes("m") == 0; }));
}

TEST_F(redlock, two_dead_of_five_cost_nothing_beyond_the_first_silence) {
  start(5);
  const client c = connect(url(), {.request_timeout = 3s});
  mutex m(c, "m");
  fencing_token last = m.acquire().token();
  servers_[0].kill();
  servers_[3].pause();
  const auto took = time_taken([&] {
    for (int i = 0; i < 20; ++i) {
      const lease held = m.acquire({.wait = live_timeout});
      EXPECT_GT(held.token(), last);
      last = held.token();
    }
  });
  EXPECT_LT(took, 3s) << "not one of them waited for the silent ones";
  servers_[3].resume();
}

TEST_F(redlock, a_client_begins_with_a_minority_away) {
  start(3);
  servers_[1].kill();
  mutex m(connect(url()), "m");
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
}

TEST_F(redlock, three_dead_of_five_are_told_in_time_and_nothing_is_left) {
  start(5);
  const client c = connect(url(), {.request_timeout = 500ms});
  mutex m(c, "m");
  for (std::size_t i = 0; i < 3; ++i) servers_[i].kill();
  std::string text;
  const auto took = time_taken([&] {
    try {
      const lease held = m.acquire();
      ADD_FAILURE() << "granted by a minority";
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unavailable);
      text = e.what();
    }
  });
  EXPECT_LT(took, 10s);
  EXPECT_NE(text.find("servers do not vote, and 3 must"), text.npos) << text;
  for (std::size_t i = 3; i < 5; ++i)
    EXPECT_TRUE(eventually([&] { return servers_[i].command({"EXISTS", "m"}) == ":0"; }));
}

TEST_F(redlock, connecting_to_a_minority_says_so) {
  start(3);
  servers_[0].kill();
  servers_[1].kill();
  try {
    connect(url());
    ADD_FAILURE() << "connected";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::unavailable);
    EXPECT_NE(std::string(e.what()).find("only 1 of 3 servers can be reached, and 2 must be"), std::string::npos)
        << e.what();
  }
}

TEST_F(redlock, a_lease_outlives_the_loss_of_a_minority_and_ends_with_the_majority) {
  start(3);
  mutex m(connect(url(), {.ttl = 1s, .request_timeout = 300ms}), "m");
  const lease held = m.acquire();
  ASSERT_TRUE(eventually([&] { return votes("m") == 3; }));
  servers_[0].command({"FLUSHALL"});
  EXPECT_FALSE(eventually([&] { return held.lost().stop_requested(); }, 2500ms)) << "two of three still have it";
  servers_[1].command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
}

TEST_F(redlock, a_release_finds_it_lost_if_only_a_minority_still_has_it) {
  start(5);
  mutex m(connect(url()), "m");
  lease held = m.acquire();
  ASSERT_TRUE(eventually([&] { return votes("m") == 5; }));
  for (int i = 0; i < 3; ++i) servers_[i].command({"FLUSHALL"});
  EXPECT_TRUE(failed(errc::lost, held.release())) << "three of five have forgotten it";
}

TEST_F(redlock, a_release_is_good_if_those_that_may_have_had_it_make_a_majority) {
  start(5);
  mutex m(connect(url(), {.ttl = 30s, .request_timeout = 300ms}), "m");
  lease held = m.acquire();
  ASSERT_TRUE(eventually([&] { return votes("m") == 5; }));
  servers_[0].command({"FLUSHALL"});
  servers_[1].command({"FLUSHALL"});
  servers_[2].pause();
  EXPECT_TRUE(held.release()) << "the silent one may have had it";
  servers_[2].resume();
}

TEST_F(redlock, a_release_that_reaches_nobody_says_so) {
  start(3);
  mutex m(connect(url(), {.ttl = 30s, .request_timeout = 300ms}), "m");
  lease held = m.acquire();
  ASSERT_TRUE(eventually([&] { return votes("m") == 3; }));
  for (auto& server : servers_) server.pause();
  EXPECT_TRUE(failed(errc::unavailable, held.renew()));  // by now they are known to be silent
  EXPECT_TRUE(failed(errc::unavailable, held.release())) << "and not that it was lost";
  for (auto& server : servers_) server.resume();
}

TEST_F(redlock, an_evicted_lock_is_lost_at_the_next_renewal) {
  start(3);
  const client c = connect(url(), {.ttl = 600ms});
  mutex m(c, "m");
  const lease held = m.acquire();
  EXPECT_TRUE(connect(url()).evict("m"));
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }, 5s));
  EXPECT_EQ(held.loss_cause(), loss::taken);
}

TEST_F(redlock, tokens_increase_although_one_server_is_far_ahead_and_then_dies) {
  start(3);
  mutex m(connect(url()), "m");
  const fencing_token before = m.acquire().token();
  const std::uint64_t ahead = before.value() + 1'000'000'000'000;
  servers_[2].command({"SET", "redisson_lock_token:{m}", std::to_string(ahead)});
  // A majority with that server in it must have been seen once.
  fencing_token seen;
  ASSERT_TRUE(eventually([&] { return (seen = m.acquire().token()).value() > ahead; }));
  servers_[2].kill();
  for (int i = 0; i < 5; ++i) {
    const fencing_token next = m.acquire({.wait = live_timeout}).token();
    EXPECT_GT(next, seen) << "although none of the living has drawn so high a number";
    seen = next;
  }
}

TEST_F(redlock, a_restarted_server_does_not_help_a_second_one_in) {
  start(3);
  const client_options brief{.ttl = 2s, .request_timeout = 200ms};
  servers_[2].kill();
  mutex first(connect(url(), brief), "m");
  const lease held = first.acquire({.wait = live_timeout});  // granted by the first and the second
  const auto passes = [](std::chrono::nanoseconds time) {
    return eventually([until = lease_clock::now() + time] { return lease_clock::now() > until; });
  };
  ASSERT_TRUE(passes(600ms)) << "the third is not asked for its vote any more";
  servers_[2].start();
  ASSERT_TRUE(passes(3500ms)) << "it may vote on others";
  servers_[1].kill();
  servers_[1].start();  // and has forgotten its vote
  mutex second(connect(url(""), brief), "m");
  EXPECT_FALSE(second.try_acquire()) << "two holders";
  mutex trusting(connect(url("?restarted=vote"), brief), "m");
  EXPECT_TRUE(trusting.try_acquire({.wait = 1s})) << "what would happen without the check";
}

TEST_F(redlock, who_waits_for_restarted_servers_is_told_why_and_gets_in) {
  start(3);
  std::mutex guard;
  std::string told;
  const auto note = [&](log_level, std::string_view line) {
    const std::lock_guard lock(guard);
    told += std::string(line) + "\n";
  };
  mutex m(connect(url(""), {.ttl = 3s, .log = note}), "m");
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); })) << "nobody votes yet";
  EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
  const std::lock_guard lock(guard);
  EXPECT_NE(told.find("it may have forgotten locks; it votes in"), told.npos) << told;
}

TEST_F(redlock, servers_that_keep_every_write_vote_at_once) {
  start(3, {"--appendonly", "yes", "--appendfsync", "always"});
  mutex m(connect(url("")), "m");
  EXPECT_TRUE(m.try_acquire());
}

TEST_F(redlock, what_a_majority_cannot_count_is_refused) {
  start(3);
  const client c = connect(url());
  EXPECT_TRUE(throws(errc::unsupported, [&] { return counting_semaphore(c, "s").available(); }));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return permit_semaphore(c, "p", 2).try_acquire(); }));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return latch(c, "l").count(); }));
  EXPECT_TRUE(throws(errc::unsupported, [&] { return cell(c, "c").load(); }));
}

TEST_F(redlock, split_votes_are_resolved_while_servers_are_dead) {
  start(5);
  servers_[1].kill();
  servers_[4].kill();
  int counter = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        // A client each: they meet at the servers, where each vote of the three that are left is needed.
        mutex m(connect(url(), {.request_timeout = 1s}), "m");
        for (int n = 0; n < 20; ++n) {
          const lease held = m.acquire({.wait = live_timeout});
          ++counter;
        }
      });
    }
  }
  EXPECT_EQ(counter, 120);
}

TEST_F(redlock, a_wrong_password_at_one_server_is_not_a_dead_server) {
  start(2);
  servers_.emplace_back(std::vector<std::string>{"--requirepass", "secret"});
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect(url()); }));
}

}  // namespace holdfast::testing
