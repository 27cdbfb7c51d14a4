#include <holdfast/holdfast.hpp>
#include <holdfast/testing/certificates.hpp>
#include <holdfast/testing/cutting_proxy.hpp>
#include <holdfast/testing/etcd_server.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/expectations.hpp>

#include <gtest/gtest.h>

#include <mutex>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

constexpr const char* as_root = "--user=root:rootpw ";

void switch_on(const etcd_server& server) {
  for (const char* words : {"user add root:rootpw", "user grant-role root root", "role add locks",
                            "role grant-permission locks --prefix=true readwrite orders/",
                            "role grant-permission locks --prefix=true readwrite holdfast", "user add service:s3cret",
                            "user grant-role service locks", "auth enable"})
    server.etcdctl(words);
}

std::string as_service(const std::string& hosts) { return "etcd://service:s3cret@" + hosts; }

/// Logins that say which rights they were made under: when those change, they are over.
std::vector<std::string> signed_logins() {
  static certificates keys;
  static const auto pair = keys.issue("DNS:tokens");
  return {"--auth-token", "jwt,pub-key=" + pair.cert + ",priv-key=" + pair.key + ",sign-method=ES256,ttl=10m"};
}

/// What a client logs.
class journal {
 public:
  void write(std::string_view line) {
    const std::lock_guard lock(mutex_);
    all_ += std::string(line) + "\n";
  }
  std::string all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::string all_;
};

}  // namespace

TEST(etcd_refusal, what_was_refused_leaves_nothing) {
  const etcd_server server;
  switch_on(server);
  {
    const client c = connect(as_service(server.hosts()), {.ttl = 60s});
    const lease held = mutex(c, "orders").acquire();
    counting_semaphore permits(c, "customers");
    EXPECT_TRUE(throws(errc::rejected, [&] { return permits.try_acquire(); }));
    permit_semaphore some(c, "customers", 2);
    EXPECT_TRUE(throws(errc::rejected, [&] { return some.try_acquire(); }));
    EXPECT_TRUE(throws(errc::rejected, [&] { return shared_mutex(c, "customers").try_acquire(); }));
  }
  // With nothing in its books, a client ends its session when it goes.
  EXPECT_TRUE(eventually([&] { return server.etcdctl(as_root + std::string("lease list")) == "found 0 leases"; }));
}

TEST(etcd_refusal, a_login_that_is_not_answered_is_unavailable_not_rejected) {
  etcd_server server(etcd_server::size::one, signed_logins());
  switch_on(server);
  cutting_proxy proxy(server.node(0).port());
  const client c = connect(as_service("127.0.0.1:" + std::to_string(proxy.port())), {.request_timeout = 1s});
  mutex m(c, "orders");
  server.etcdctl(as_root + std::string("role add another"));  // logins of before are too old now
  proxy.keep("s3cret");
  EXPECT_TRUE(throws(errc::unavailable, [&] { return m.try_acquire(); }));
  EXPECT_TRUE(proxy.kept());
}

TEST(etcd_refusal, a_watch_stream_whose_login_is_over_is_opened_again) {
  const etcd_server server(etcd_server::size::one, signed_logins());
  switch_on(server);
  journal lines;
  const client c = connect(as_service(server.hosts()),
                           {.ttl = 60s, .log = [&](log_level, std::string_view line) { lines.write(line); }});
  const auto wait_once = [&] {
    // Another session each time, and so another key to watch.
    const client root = connect("etcd://root:rootpw@" + server.hosts());
    lease held = mutex(root, "orders").acquire({.wait = live_timeout});
    mutex m(c, "orders");
    auto waits = m.async_acquire();
    EXPECT_TRUE(eventually([&] {
      const auto all = root.inspect("orders");
      return all.size() == 1 && all[0].waiters.size() == 1;
    }));
    EXPECT_TRUE(succeeded(held.release()));
    EXPECT_TRUE(waits.get().valid());
  };
  wait_once();
  server.etcdctl(as_root + std::string("role add another"));  // logins of before are too old now
  wait_once();
  EXPECT_EQ(lines.all().find("watching"), std::string::npos) << lines.all();
}

}  // namespace holdfast::testing
