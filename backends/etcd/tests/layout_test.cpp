#include <holdfast/holdfast.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <algorithm>

// What others find in etcd.

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string keys_below(const etcd_server& server, const std::string& prefix) {
  return server.etcdctl("get --prefix --keys-only '" + prefix + "'");
}

/// The number after `"name":` in what etcdctl prints as JSON; with several, that of the first.
std::uint64_t field(const std::string& json, const std::string& name) {
  const auto at = json.find("\"" + name + "\":");
  return at == json.npos ? 0 : std::stoull(json.substr(at + name.size() + 3));
}

}  // namespace

TEST(etcd_layout, a_mutex_is_a_key_named_by_its_lease_and_its_token_is_the_create_revision) {
  const etcd_server server;
  mutex m(connect(server.url()), "orders/42");
  const lease held = m.acquire();
  const std::string json = server.etcdctl("get --prefix orders/42/ -w json");
  EXPECT_EQ(field(json, "create_revision"), held.token().value());
  char lease_hex[32];
  std::snprintf(lease_hex, sizeof lease_hex, "%llx", static_cast<unsigned long long>(field(json, "lease")));
  EXPECT_EQ(keys_below(server, "orders/42/").substr(0, 10 + std::string(lease_hex).size()),
            "orders/42/" + std::string(lease_hex));
}

TEST(etcd_layout, the_transaction_of_the_documentation_checks_a_token) {
  const etcd_server server;
  mutex m(connect(server.url()), "orders");
  const auto write_under = [&](const std::string& key, fencing_token token, const std::string& value) {
    return server.etcdctl("txn <<'END'\ncreate(\"" + key + "\") = \"" + std::to_string(token.value()) +
                          "\"\n\nput row " + value + "\n\n\nEND\n");
  };
  lease held = m.acquire();
  const fencing_token old = held.token();
  std::string key = keys_below(server, "orders/");
  key = key.substr(0, key.find('\n'));
  EXPECT_TRUE(write_under(key, old, "1").starts_with("SUCCESS"));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(write_under(key, old, "2").starts_with("FAILURE"));
  const lease again = m.acquire();
  EXPECT_TRUE(write_under(key, old, "3").starts_with("FAILURE")) << "the same key, but another grant";
  EXPECT_TRUE(write_under(key, again.token(), "4").starts_with("SUCCESS"));
}

TEST(etcd_layout, nothing_is_left_of_locks_that_are_released_and_of_clients_that_are_gone) {
  const etcd_server server;
  {
    const client c = connect(server.url());
    mutex m(c, "m");
    shared_mutex s(c, "s");
    permit_semaphore p(c, "p", 2);
    const lease held[] = {m.acquire(), s.acquire(), p.acquire(), mutex(c, "brief").acquire({.ttl = 5s})};
  }
  EXPECT_TRUE(eventually([&] { return keys_below(server, "").empty(); })) << keys_below(server, "");
  EXPECT_TRUE(eventually([&] { return server.etcdctl("lease list").starts_with("found 0 leases"); }))
      << server.etcdctl("lease list");
}

TEST(etcd_layout, several_claims_of_one_client_on_one_name_have_a_key_each) {
  const etcd_server server;
  const client c = connect(server.url());
  mutex one(c, "m", {.order = ordering::fifo});
  mutex two(c, "m", {.order = ordering::fifo});
  lease held = one.acquire();
  auto waits = two.async_acquire();
  ASSERT_TRUE(eventually([&] { return keys_below(server, "m/").find("-2") != std::string::npos; }));
  ASSERT_TRUE(succeeded(held.release()));
  EXPECT_TRUE(waits.get().valid());
}

TEST(etcd_layout, a_lock_below_another_does_not_hold_it_up) {
  const etcd_server server;
  const client c = connect(server.url());
  const lease below = mutex(c, "a/b").acquire();
  const lease deeper = mutex(c, "a/read").acquire();
  EXPECT_TRUE(mutex(c, "a").try_acquire());
  EXPECT_TRUE(shared_mutex(c, "a").try_acquire_shared());
  EXPECT_TRUE(shared_mutex(c, "a").try_acquire());
  EXPECT_TRUE(permit_semaphore(c, "a", 1).try_acquire());
  mutex m(connect(server.url()), "a");
  const lease held = m.acquire({.wait = live_timeout});
  EXPECT_FALSE(mutex(c, "a").try_acquire());
}

TEST(etcd_layout, namespaces_know_nothing_of_each_other) {
  const etcd_server server;
  const client one = connect(server.url("?namespace=one/"));
  const client two = connect(server.url("?namespace=two/"));
  const lease held = mutex(one, "m").acquire();
  EXPECT_TRUE(mutex(two, "m").try_acquire());
  EXPECT_TRUE(two.inspect("").empty());
  EXPECT_FALSE(mutex(connect(server.url()), "one/m").try_acquire()) << "as Go's namespace package does it";
}

}  // namespace holdfast::testing
