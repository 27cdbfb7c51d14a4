#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

/// Every token in the order of the grants, of threads of several clients.
std::vector<std::uint64_t> contend(const std::string& url, int clients, int threads, int rounds) {
  std::vector<std::uint64_t> tokens;  // guarded by the very lock
  std::vector<std::jthread> all;
  for (int c = 0; c < clients; ++c) {
    const client own = connect(url);
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&tokens, own, rounds] {
        mutex m(own, "m");
        for (int i = 0; i < rounds; ++i) {
          const lease held = m.acquire();
          tokens.push_back(held.token().value());
        }
      });
    }
  }
  all.clear();
  return tokens;
}

bool strictly_increasing(const std::vector<std::uint64_t>& all) {
  return std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end();
}

}  // namespace

TEST(etcd_tokens, increase_over_handovers_within_and_between_clients) {
  const etcd_server server;
  const auto tokens = contend(server.url(), 3, 4, 60);
  EXPECT_EQ(tokens.size(), 720u);
  EXPECT_TRUE(strictly_increasing(tokens));
}

TEST(etcd_tokens, what_keeps_them_goes_when_revisions_have_overtaken_them) {
  const etcd_server server;
  contend(server.url(), 1, 4, 30);
  const client c = connect(server.url());
  mutex m(c, "m");
  const auto kept = [&] { return !server.etcdctl("get --keys-only holdfast-token:m").empty(); };
  std::uint64_t last = 0;
  EXPECT_TRUE(eventually([&] {
    const lease held = m.acquire();
    EXPECT_GT(held.token().value(), last);
    last = held.token().value();
    return !kept();
  }));
}

TEST(etcd_tokens, are_revisions_and_nothing_else_where_the_url_says_so) {
  const etcd_server server;
  const std::string url = server.url("?tokens=revision");
  const auto tokens = contend(url, 2, 3, 20);
  EXPECT_TRUE(strictly_increasing(tokens));
  EXPECT_TRUE(server.etcdctl("get --keys-only holdfast-token:m").empty());
  EXPECT_TRUE(throws(errc::unsupported, [&] {
    mutex m(connect(url), "q");
    quorum_mutex q({m});
  }));
}

}  // namespace holdfast::testing
