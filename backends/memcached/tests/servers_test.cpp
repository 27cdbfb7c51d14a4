#include <holdfast/holdfast.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/memcached_server.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <vector>

// Several servers, each with names of its own.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

class memcached_servers : public ::testing::Test {
 protected:
  static std::string url_of(const memcached_server& one, const memcached_server& two) {
    return one.url() + ",127.0.0.1:" + std::to_string(two.port());
  }

  memcached_server one_;
  memcached_server two_;
  const client_options options_{.connect_timeout = 3s, .request_timeout = 500ms};
};

}  // namespace

TEST_F(memcached_servers, names_spread_and_the_order_of_the_url_does_not_matter) {
  const client c = connect(url_of(one_, two_));
  const client turned = connect(url_of(two_, one_));
  std::vector<lease> held;
  for (int i = 0; i < 40; ++i) {
    const auto name = "spread-" + std::to_string(i);
    held.push_back(mutex(c, name).acquire());
    EXPECT_FALSE(mutex(turned, name).try_acquire());
  }
  EXPECT_EQ(turned.inspect("spread-").size(), 40u);
  const auto first = connect(one_.url()).inspect("spread-").size();
  EXPECT_GT(first, 5u);
  EXPECT_LT(first, 35u);
}

TEST_F(memcached_servers, the_names_of_a_dead_server_are_unavailable_and_go_to_nobody_else) {
  const client c = connect(url_of(one_, two_), options_);
  two_.kill();
  int had = 0;
  int unavailable = 0;
  for (int i = 0; i < 12 || (i < 200 && (had == 0 || unavailable == 0)); ++i) {
    try {
      had += mutex(c, "half-" + std::to_string(i)).try_acquire() ? 1 : 0;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unavailable) << e.what();
      ++unavailable;
    }
  }
  EXPECT_GT(had, 0);
  EXPECT_GT(unavailable, 0);
  // One that connects now has the others' names as well.
  const client late = connect(url_of(one_, two_));
  two_.start();
  for (int i = 0; i < 12; ++i)
    EXPECT_TRUE(mutex(late, "half-" + std::to_string(i)).try_acquire({.wait = live_timeout}));
}

TEST_F(memcached_servers, one_that_stands_still_keeps_nobody_from_the_other) {
  const client c = connect(url_of(one_, two_), {.ttl = 2s, .connect_timeout = live_timeout, .request_timeout = 500ms});
  const auto gets = [&](const std::string& name) {
    try {
      return mutex(c, name).try_acquire().has_value();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::unavailable) << e.what();
      return false;
    }
  };
  two_.kill();
  std::string of_one;
  std::string of_two;
  for (int i = 0; of_one.empty() || of_two.empty(); ++i) {
    ASSERT_LT(i, 200);
    const auto name = "side-" + std::to_string(i);
    (gets(name) ? of_one : of_two) = name;
  }
  two_.start();
  ASSERT_TRUE(eventually([&] { return gets(of_two); }));
  one_.pause();
  EXPECT_FALSE(gets(of_one));
  EXPECT_FALSE(gets(of_one)) << "it is dialled, and does not greet";
  two_.kill();
  two_.start();
  EXPECT_TRUE(eventually([&] { return gets(of_two); }, live_timeout / 2)) << "until the first has greeted";
  one_.resume();
  EXPECT_TRUE(eventually([&] { return gets(of_one); }));
}

TEST(memcached_names, ten_thousand_random_names_do_not_get_in_each_others_way) {
  const memcached_server server;
  const client c = connect(server.url(), {.ttl = 600s});
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<operation<lease>> waits;
  for (int i = 0; i < 10'000; ++i) {
    const std::string number = std::to_string(i);
    // Short and long, with what keys cannot hold, and alike in their beginnings or ends.
    const std::string name = i % 3 == 0   ? std::string(400, 'x') + number
                             : i % 3 == 1 ? number + " %20 \xc3\xbc"
                                          : number + std::string(300, ' ');
    locks.push_back(std::make_unique<mutex>(c, name));
    waits.push_back(locks.back()->async_acquire({.wait = live_timeout}));
  }
  std::vector<lease> held;
  for (auto& one : waits) held.push_back(one.get());
  EXPECT_EQ(c.inspect("").size(), 10'000u);
  EXPECT_EQ(c.inspect(std::string(400, 'x')).size(), 3334u) << "although their keys are hashed";
}

}  // namespace holdfast::testing
