#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/redis_tls_server.hpp>
#include <holdfast/testing/scale.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string at(const std::string& host, std::uint16_t port, const std::string& options = {}) {
  return "rediss://" + host + ":" + std::to_string(port) + "?ca-file=" + redis_tls_server::authority().authority() +
         options;
}

/// The text of the refusal.
std::string refused(const std::string& url) {
  EXPECT_TRUE(throws(errc::rejected, [&] { return connect(url); })) << url;
  return error_text([&] { return connect(url); });
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(redis_tls, locks_are_taken_waited_for_and_handed_over) {
  redis_tls_server server;
  client c = connect(server.url());
  mutex ours(c, "m");
  mutex theirs(connect(server.url()), "m");
  mutex plain(connect(server.server().url()), "m");
  lease held = ours.acquire();
  EXPECT_FALSE(plain.try_acquire()) << "it is the same store";
  auto waits = theirs.async_acquire();
  ASSERT_TRUE(eventually([&] {
    const auto all = c.inspect("");
    return all.size() == 1 && all[0].waiters.size() == 1;
  }));
  const auto before = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  const lease next = waits.get();
  EXPECT_GT(next.token(), before);
  EXPECT_TRUE(shared_mutex(c, "s").try_acquire_shared());
}

TEST(redis_tls, the_name_in_the_url_or_beside_it_is_verified) {
  const redis_tls_server server;
  EXPECT_TRUE(mutex(connect(at("localhost", server.port())), "m").try_acquire());
  EXPECT_TRUE(mutex(connect(at("127.0.0.1", server.port(), "&server-name=localhost")), "m").try_acquire());
  EXPECT_PRED2(has, refused(at("127.0.0.1", server.port(), "&server-name=cache.example")), "not for 'cache.example'");
  EXPECT_TRUE(
      mutex(connect(at("127.0.0.1", server.port(), "&server-name=cache.example&verify=off")), "m").try_acquire());
}

TEST(redis_tls, who_cannot_be_trusted_is_refused) {
  const redis_tls_server server;
  certificates others;
  const std::string port = std::to_string(server.port());
  EXPECT_PRED2(has, refused("rediss://127.0.0.1:" + port + "?ca-file=" + others.authority()), "not trusted");
  EXPECT_PRED2(has, refused("rediss://127.0.0.1:" + port), "not trusted");
  EXPECT_TRUE(connect("rediss://127.0.0.1:" + port + "?verify=off").inspect("").empty());

  const auto old = redis_tls_server::authority().issue("IP:127.0.0.1", certificates::age::expired);
  const redis_tls_server expired(old, {});
  EXPECT_PRED2(has, refused(expired.url()), "expired");
}

TEST(redis_tls, a_server_that_wants_a_certificate_gets_it) {
  const redis_tls_server server({"--tls-auth-clients", "yes"});
  const auto ours = redis_tls_server::authority().issue("DNS:client");
  const std::string with_ours = server.url() + "&cert-file=" + ours.cert + "&key-file=" + ours.key;
  EXPECT_TRUE(mutex(connect(with_ours), "m").try_acquire());
  EXPECT_PRED2(has, refused(server.url()), "client certificate");
  const std::string locked = redis_tls_server::authority().locked(ours.key);
  EXPECT_PRED2(has, refused(server.url() + "&cert-file=" + ours.cert + "&key-file=" + locked), "key-file");
}

TEST(redis_tls, tls_1_2_is_enough_and_1_1_is_not) {
  const redis_tls_server good({"--tls-protocols", "TLSv1.2"});
  EXPECT_TRUE(mutex(connect(good.url()), "m").try_acquire());
  const redis_tls_server old({"--tls-protocols", "TLSv1.1", "--tls-ciphers", "ALL:@SECLEVEL=0"});
  EXPECT_PRED2(has, refused(old.url()), "TLS");
}

TEST(redis_tls, a_plain_server_and_a_plain_client_are_told_so) {
  redis_tls_server server;
  // It takes the handshake for half a command or for a whole one, as chance has it: it waits, or answers.
  const std::string text =
      error_text([&] { return connect(at("127.0.0.1", server.server().port()), {.connect_timeout = 500ms}); });
  EXPECT_PRED2(has, text, "speak TLS");
  EXPECT_PRED2(has, error_text([&] { return connect("redis://127.0.0.1:" + std::to_string(server.port())); }),
               "rediss:");
}

TEST(redis_tls, passwords_are_given_and_never_told) {
  const redis_tls_server server({"--requirepass", "open-sesame"});
  const std::string rest =
      "127.0.0.1:" + std::to_string(server.port()) + "?ca-file=" + redis_tls_server::authority().authority();
  EXPECT_TRUE(mutex(connect("rediss://:open-sesame@" + rest), "m").try_acquire());
  EXPECT_FALSE(has(refused("rediss://app:hunter2@" + rest), "hunter2"));
}

TEST(redis_tls, cut_connections_lose_neither_leases_nor_waiters) {
  redis_tls_server server;
  mutex ours(connect(server.url(), {.ttl = 900ms}), "m");
  mutex theirs(connect(server.url()), "m");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  for (int i = 0; i < 5; ++i) {
    server.server().command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    server.server().command({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_FALSE(eventually([&] { return !held.valid() || waits.ready(); }, 300ms));
  }
  EXPECT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST(redis_tls, a_restarted_server_is_used_again) {
  redis_tls_server server;
  mutex m(connect(server.url()), "m");
  lease held = m.acquire();
  mutex other(connect(server.url(), {.request_timeout = 10s}), "m");
  auto waits = other.async_acquire();
  EXPECT_FALSE(eventually([&] { return waits.ready(); }, short_wait));
  server.server().kill();
  server.server().start();
  EXPECT_GT(waits.get().token(), held.token());
  EXPECT_TRUE(failed(errc::lost, held.renew()));
}

TEST(redis_tls, an_idle_connection_is_used_again_not_made_again) {
  redis_tls_server server;
  mutex m(connect(server.url()), "m");
  const auto connections = [&] {
    return server.server().command({"EVAL",
                                    "return tonumber(string.match(redis.call('INFO', 'stats'), "
                                    "'total_connections_received:(%d+)'))",
                                    "0"});
  };
  const int before = std::stoi(connections().substr(1));
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(m.try_acquire());
    EXPECT_FALSE(eventually([] { return false; }, 5ms));
  }
  EXPECT_EQ(std::stoi(connections().substr(1)), before + 1) << "but for the one that counts";
}

TEST(redis_tls, many_leases_are_renewed_at_once) {
  redis_tls_server server;
  const client c = connect(server.url(), {.ttl = 10s, .request_timeout = 20s});
  const int count = scaled(10'000);
  std::deque<mutex> locks;
  std::vector<operation<lease>> asked;
  for (int i = 0; i < count; ++i) {
    locks.emplace_back(c, "m" + std::to_string(i));
    asked.push_back(locks.back().async_acquire());
  }
  std::vector<lease> held;
  for (auto& one : asked) held.push_back(one.get());
  const auto until = held.back().valid_until();
  ASSERT_TRUE(eventually([&] { return held.back().valid_until() > until + 1500ms; }));
  for (const auto& one : held) EXPECT_TRUE(one.valid());
}

}  // namespace holdfast::testing
