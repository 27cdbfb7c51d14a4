#include <holdfast/holdfast.hpp>
#include <holdfast/testing/certificates.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

certificates& authority() {
  static certificates made;
  return made;
}

std::vector<std::string> shows(const certificates::pair& pair) {
  return {"--cert-file", pair.cert, "--key-file", pair.key};
}

client_options soon() { return {.connect_timeout = 2s}; }

}  // namespace

TEST(etcd_tls, locks_are_taken_waited_for_and_handed_over) {
  const auto pair = authority().issue("IP:127.0.0.1,DNS:localhost");
  const etcd_server server(etcd_server::size::one, shows(pair), etcd_server::scheme::tls);
  const std::string url = server.url("?ca-file=" + authority().authority());
  mutex ours(connect(url), "m");
  mutex theirs(connect(url), "m");
  lease held = ours.acquire();
  auto waits = theirs.async_acquire();
  const auto before = held.token();
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_GT(waits.get().token(), before);
}

TEST(etcd_tls, the_authority_and_the_name_are_verified) {
  const auto pair = authority().issue("DNS:etcd.example");
  const etcd_server server(etcd_server::size::one, shows(pair), etcd_server::scheme::tls);
  const std::string ca = "?ca-file=" + authority().authority();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(server.url(ca), soon()); })) << "another name";
  EXPECT_TRUE(mutex(connect(server.url(ca + "&server-name=etcd.example")), "m").try_acquire());
  certificates stranger;
  EXPECT_TRUE(throws(errc::unavailable, [&] {
    return connect(server.url("?ca-file=" + stranger.authority() + "&server-name=etcd.example"), soon());
  }));
}

TEST(etcd_tls, a_client_shows_its_certificate) {
  const auto pair = authority().issue("IP:127.0.0.1");
  auto words = shows(pair);
  words.insert(words.end(), {"--client-cert-auth", "--trusted-ca-file", authority().authority()});
  const etcd_server server(etcd_server::size::one, words, etcd_server::scheme::tls);
  const std::string ca = "?ca-file=" + authority().authority();
  EXPECT_TRUE(throws(errc::unavailable, [&] { return connect(server.url(ca), soon()); }));
  const auto own = authority().issue("DNS:client");
  EXPECT_TRUE(mutex(connect(server.url(ca + "&cert-file=" + own.cert + "&key-file=" + own.key)), "m").try_acquire());
}

}  // namespace holdfast::testing
