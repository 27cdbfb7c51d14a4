#include "raw_zookeeper.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/holder_process.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// The one session there is now.
std::uint64_t only_session(const zookeeper_server& server) {
  std::vector<std::uint64_t> all;
  EXPECT_TRUE(eventually([&] { return (all = server.sessions()).size() == 1; }));
  return all.at(0);
}

bool works(mutex& m) {
  return eventually([&] {
    try {
      return m.try_acquire({.wait = 1s}).has_value();
    } catch (const error&) {
      return false;
    }
  });
}

}  // namespace

TEST(zookeeper_bad_day, a_session_ended_at_the_server_is_the_loss_of_all_leases_and_another_one_comes) {
  const zookeeper_server server;
  const client c = connect(server.url());
  mutex m(c, "m");
  mutex n(c, "n");
  const lease held = m.acquire();
  const lease also = n.acquire();
  const auto before = held.token();
  server.end_session(only_session(server));
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested() && also.lost().stop_requested(); }));
  // The server removes the nodes first, and may tell of that.
  EXPECT_TRUE(held.loss_cause() == loss::session_ended || held.loss_cause() == loss::taken);
  EXPECT_FALSE(held.valid());
  std::optional<lease> next;
  ASSERT_TRUE(eventually([&] {
    try {
      return (next = m.try_acquire({.wait = 1s})).has_value();
    } catch (const error&) {
      return false;
    }
  }));
  EXPECT_GT(next->token(), before);
}

TEST(zookeeper_bad_day, a_wait_survives_the_end_of_its_session) {
  const zookeeper_server server;
  std::optional<client> first = connect(server.url());
  mutex theirs(*first, "m");
  const auto their_session = only_session(server);
  lease held = theirs.acquire();
  // Short: who takes his session back in the midst of its end is left with a connection that says nothing.
  mutex m(connect(server.url(), {.ttl = 3s}), "m");
  auto waits = m.async_acquire();
  const raw_zookeeper raw(server.address());
  ASSERT_TRUE(eventually([&] { return raw.children("/m").size() == 2; }));
  const auto waiting = raw.get("/m/" + raw.children("/m").at(1)).owner;
  ASSERT_NE(static_cast<std::uint64_t>(waiting), their_session);
  server.end_session(static_cast<std::uint64_t>(waiting));
  ASSERT_TRUE(eventually([&] {
    const auto line = raw.children("/m");
    return line.size() == 2 && raw.get("/m/" + line[1]).owner != waiting;
  })) << "it is in line again, in another session";
  EXPECT_FALSE(waits.ready());
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST(zookeeper_bad_day, a_restart_within_the_sessions_time_loses_nothing) {
  zookeeper_server server;
  const client_options options{.ttl = 20s};
  mutex ours(connect(server.url(), options), "m");
  mutex theirs(connect(server.url(), options), "m");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  {
    const raw_zookeeper raw(server.address());
    ASSERT_TRUE(eventually([&] { return raw.children("/m").size() == 2; }));
  }
  server.kill();
  server.start();
  ASSERT_TRUE(eventually([&] { return held.renew().has_value(); }));
  EXPECT_TRUE(held.valid());
  EXPECT_FALSE(waits.ready());
  EXPECT_TRUE(eventually([&] { return held.release().has_value() || !held.valid(); }));
  EXPECT_TRUE(waits.get().valid());
}

TEST(zookeeper_bad_day, a_lease_is_lost_before_the_session_can_end_when_the_server_stands_still) {
  zookeeper_server server;
  mutex renewed(connect(server.url(), {.ttl = 2s}), "m");
  // Its own time is much longer than the session's.
  mutex fixed(connect(server.url(), {.ttl = 2s}), "n");
  const lease held = renewed.acquire();
  const lease lasting = fixed.acquire({.ttl = 1h});
  const auto start = std::chrono::steady_clock::now();
  server.pause();
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested() && lasting.lost().stop_requested(); }, 10s));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
  EXPECT_EQ(held.loss_cause(), loss::unreachable);
  EXPECT_EQ(lasting.loss_cause(), loss::unreachable);
  server.resume();
  EXPECT_TRUE(works(renewed));
  EXPECT_TRUE(works(fixed));
}

TEST(zookeeper_bad_day, a_ttl_longer_than_the_session_is_over_with_it_at_the_first_look_after_a_pause) {
  const zookeeper_server server;
  holder_process other = holder_process::connected(server.url(), 1s);
  const auto before = other.granted("acquire mutex m ttl=3600000");
  other.pause();
  const auto next = mutex(connect(server.url()), "m").try_acquire({.wait = live_timeout});
  ASSERT_TRUE(next) << "its session does not end";
  EXPECT_GT(next->token().value(), before);
  other.tell("valid");  // Waits in the pipe: the first thing the process does when it goes on.
  other.resume();
  EXPECT_EQ(other.reply(), "no") << "two valid leases at one time";
}

TEST(zookeeper_bad_day, a_server_that_stands_still_is_unavailable_in_time_and_is_used_again) {
  zookeeper_server server;
  const client c = connect(server.url(), {.request_timeout = 500ms});
  mutex m(c, "m");
  {
    const lease warm = m.acquire();
  }
  server.pause();
  EXPECT_LT(time_taken([&] { EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); })); }), 5s);
  server.resume();
  EXPECT_TRUE(works(m)) << "and what was asked for meanwhile is not in the way";
}

TEST(zookeeper_bad_day, destructors_are_bounded_while_the_server_is_gone) {
  zookeeper_server server;
  std::optional<client> c = connect(server.url(), {.ttl = 2s, .request_timeout = 500ms});
  std::optional<mutex> m(std::in_place, *c, "m");
  std::optional<lease> held = m->acquire();
  server.kill();
  EXPECT_LT(time_taken([&] { held.reset(); }), 5s);
  EXPECT_LT(time_taken([&] { m.reset(); }), 5s);
  EXPECT_LT(time_taken([&] { c.reset(); }), 5s);
}

TEST(zookeeper_bad_day, one_release_wakes_one_waiter_however_many_wait) {
  const zookeeper_server server;
  constexpr int count = 20;
  const raw_zookeeper raw(server.address());
  const client c = connect(server.url());
  mutex m(c, "m", {.order = ordering::fifo});
  lease held = m.acquire();
  std::vector<operation<lease>> waits;
  for (int i = 0; i < count; ++i) {
    waits.push_back(mutex(connect(server.url()), "m", {.order = ordering::fifo}).async_acquire());
    ASSERT_TRUE(eventually([&] { return raw.children("/m").size() == static_cast<std::size_t>(i) + 2; }));
  }
  const auto fired = [&] {
    const std::string all = server.ask("mntr");
    const auto at = all.find("zk_sum_node_deleted_watch_count\t");
    return at == all.npos ? -1 : std::stol(all.substr(at + 32));
  };
  const long before = fired();
  ASSERT_GE(before, 0) << "the server does not count";
  ASSERT_TRUE(succeeded(held.release()));
  for (auto& wait : waits) {
    const lease next = wait.get();
  }
  // Each node that goes is watched by its own client and by the one behind it.
  EXPECT_TRUE(eventually([&] { return raw.children("/m").empty(); }));
  EXPECT_LE(fired() - before, 2 * (count + 1));
}

TEST(zookeeper_bad_day, a_line_whose_numbers_are_used_up_is_refused) {
  const zookeeper_server server;
  const raw_zookeeper raw(server.address());
  raw.create("/m");
  // What a newcomer would be called after the last number.
  const std::string late =
      raw.create("/m/_c_aaaaaaaa-0000-4000-8000-000000000000-lock--2147483648", {}, raw_zookeeper::kind::ephemeral);
  ASSERT_FALSE(late.empty());
  const client c = connect(server.url());
  EXPECT_TRUE(throws(errc::rejected, [&] { return mutex(c, "m").try_acquire(); }));
  EXPECT_NE(error_text([&] { return mutex(c, "m").try_acquire(); }).find("sequence"), std::string::npos);
  EXPECT_EQ(raw.children("/m").size(), 1u);
}

TEST(zookeeper_bad_day, nobody_there_is_unavailable_in_time) {
  std::string url;
  {
    zookeeper_server server;
    url = server.url();
  }
  EXPECT_LT(time_taken([&] {
              EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(url, {.connect_timeout = 500ms}); }));
            }),
            5s);
}

}  // namespace holdfast::testing
